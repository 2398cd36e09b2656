#include "cli/cluster/cluster_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/unit_text.h"
#include "os/cluster/cluster_ask.h"
#include "services/store/service/store.h"
#include "transport/clock.h"
#include "wire/store.h"

#define ANSWER_NSEC NSEC_PER_SEC /* a server that works answers so soon after the patience */

const char *const cluster_store_names[CLUSTER_STORE_CODES] = {
#define CLUSTER_STORE_NAME(name, severity) #name,
    CLUSTER_STORE_LIST(CLUSTER_STORE_NAME)
#undef CLUSTER_STORE_NAME
};

enum health cluster_store_severity(enum cluster_store_code code)
{
    static const enum health severities[CLUSTER_STORE_CODES] = {
#define CLUSTER_STORE_SEVERITY(name, severity) severity,
        CLUSTER_STORE_LIST(CLUSTER_STORE_SEVERITY)
#undef CLUSTER_STORE_SEVERITY
    };
    return severities[code];
}

/* ---- asking ---- */

/* Takes what one server says until its last answer. */
static int hear_all(struct cluster_store *store, uint32_t server_count, int handle,
                    int64_t deadline)
{
    static uint8_t bytes[CLUSTER_MESSAGE_MAX];
    struct care_report report;
    for (;;) {
        int size = cluster_hear(handle, bytes, sizeof bytes, deadline);
        if (size < 0)
            return size;
        switch (care_answer_read(&report, &store->end, bytes, (size_t)size)) {
        case CARE_NONSENSE:
            return -EPROTO;
        case CARE_REPORT:
            if (report.server >= server_count)
                return -EPROTO;
            store->reports[report.server] = report;
            break;
        case CARE_END:
            return store->end.server_count == server_count ? store->end.error : -EPROTO;
        }
    }
}

static int ask_one(struct cluster_store *store, const char *folder, uint32_t server_count,
                   uint32_t server, const struct care_request *request)
{
    uint8_t bytes[1 + CARE_ANSWER_MAX] = {STORE_CALL_CARE};
    struct care_request asked = *request;
    if (asked.kind != CARE_ORDER)
        asked.server = CARE_NONE;
    size_t size = 1 + care_request_write(&asked, bytes + 1);
    int handle = cluster_connect(folder, server);
    if (handle < 0)
        return handle;
    int result = cluster_tell(handle, STORE_SERVICE, bytes, size);
    if (!result)
        result =
            hear_all(store, server_count, handle, clock_after(request->patience + ANSWER_NSEC));
    close(handle);
    return result;
}

int cluster_store_ask(struct cluster_store *store, const char *folder, uint32_t server_count,
                      uint32_t from, const struct care_request *request)
{
    *store = (struct cluster_store){.reports = calloc(server_count, sizeof *store->reports)};
    int result = store->reports ? -ENOTCONN : -ENOMEM;
    for (uint32_t i = 0; result != -ENOMEM && i < server_count; i++) {
        if (from != CARE_NONE && i != from)
            continue;
        int one = ask_one(store, folder, server_count, i, request);
        bool is_gone = one == -ECONNREFUSED || one == -ENOENT;
        if (!is_gone || from != CARE_NONE)
            result = one;
        if (result == 0 || result == -EADDRNOTAVAIL)
            break;
    }
    if (result)
        cluster_store_fini(store);
    else
        cluster_store_sum(store);
    return result;
}

void cluster_store_fini(struct cluster_store *store)
{
    free(store->reports);
    *store = (struct cluster_store){0};
}

/* ---- what follows ---- */

bool cluster_store_reported(const struct cluster_store *store, uint32_t server)
{
    return care_has(store->end.reported, server);
}

static bool is_member(const struct cluster_store *store, uint32_t server)
{
    return cluster_store_reported(store, server) && store->reports[server].state == CARE_MEMBER &&
           store->reports[server].epoch == store->epoch;
}

bool cluster_store_is_missing(const struct cluster_store *store, uint32_t server)
{
    return !is_member(store, server) && !care_has(store->end.released, server);
}

static uint64_t damaged_on(const struct cluster_store *store, uint32_t server)
{
    const uint64_t *counts = store->reports[server].counts;
    if (!cluster_store_reported(store, server) || counts[CARE_SCRUB_RUNS])
        return 0;
    return counts[CARE_SCRUB_OPEN] + counts[CARE_SCRUB_DIFFERING] - counts[CARE_SCRUB_EVENED];
}

static bool is_full(const uint64_t *counts)
{
    return counts[CARE_DISK_FULL] || counts[CARE_MEMORY_FULL] || counts[CARE_KEYS_FULL];
}

void cluster_store_sum(struct cluster_store *store)
{
    uint64_t *sums = store->sums, known, least = CARE_NEVER;
    memset(sums, 0, sizeof store->sums);
    store->epoch = store->end.epoch;
    store->members = store->silent = store->full = store->failed = 0;
    store->damaged = 0;
    store->absent = 0;
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        if (cluster_store_reported(store, i) && store->reports[i].epoch > store->epoch)
            store->epoch = store->reports[i].epoch;
    }
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        const struct care_report *report = &store->reports[i];
        store->silent += !cluster_store_reported(store, i);
        store->absent += cluster_store_is_missing(store, i);
        if (!cluster_store_reported(store, i))
            continue;
        store->failed += report->state == CARE_FAILED || report->state == CARE_REFUSED;
        store->damaged += damaged_on(store, i);
        store->full += is_full(report->counts);
        if (!is_member(store, i))
            continue;
        store->members++;
        for (unsigned j = 0; j < CARE_COUNTS; j++)
            sums[j] += report->counts[j];
        if (report->counts[CARE_LEARNS_IN] < least)
            least = report->counts[CARE_LEARNS_IN];
    }
    sums[CARE_LEARNS_IN] = least;
    known = sums[CARE_GROUPS_LED] + sums[CARE_GROUPS_STARTING] + sums[CARE_GROUPS_WAITING] +
            sums[CARE_GROUPS_UNAVAILABLE];
    store->unknown = known < store->end.group_count ? store->end.group_count - known : 0;
}

uint64_t cluster_store_left(const struct cluster_store *store)
{
    const uint64_t *sums = store->sums;
    if (sums[CARE_RECORDS_MISSING] == 0)
        return 0;
    if (sums[CARE_RECORDS_RATE] == 0)
        return CARE_NEVER;
    return (uint64_t)((double)sums[CARE_RECORDS_MISSING] * 1e9 / (double)sums[CARE_RECORDS_RATE]);
}

/* ---- reasons ---- */

static uint64_t not_serving(const struct cluster_store *store)
{
    return store->unknown + store->sums[CARE_GROUPS_STARTING] + store->sums[CARE_GROUPS_WAITING];
}

bool cluster_store_has(const struct cluster_store *store, enum cluster_store_code code)
{
    switch (code) {
    case CLUSTER_STORE_UNAVAILABLE:
        return store->sums[CARE_GROUPS_UNAVAILABLE] || !store->end.decides;
    case CLUSTER_STORE_STARTING:
        return not_serving(store) > 0;
    case CLUSTER_STORE_FAILED:
        return store->failed > 0;
    case CLUSTER_STORE_DAMAGED:
        return store->damaged > 0;
    case CLUSTER_STORE_FULL:
        return store->full > 0;
    case CLUSTER_STORE_SHORT:
        return store->sums[CARE_COPIES_MISSING] > 0;
    case CLUSTER_STORE_MEMBERS:
        return store->absent > 0;
    case CLUSTER_STORE_CODES:
        break;
    }
    return false;
}

enum health cluster_store_health(const struct cluster_store *store)
{
    enum health worst = HEALTH_OK;
    for (int i = 0; i < CLUSTER_STORE_CODES; i++) {
        enum cluster_store_code code = (enum cluster_store_code)i;
        if (cluster_store_has(store, code) && cluster_store_severity(code) > worst)
            worst = cluster_store_severity(code);
    }
    return worst;
}

static void put_bytes(struct text *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double amount = (double)bytes;
    unsigned unit = 0;
    while (amount >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        amount /= 1000;
        unit++;
    }
    text_printf(out, amount < 9.95 && unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static void put_short(const struct cluster_store *store, struct text *out)
{
    const uint64_t *sums = store->sums;
    uint64_t left = cluster_store_left(store), stays;
    text_count(out, sums[CARE_COPIES_MISSING], "copy of a group is", "copies of groups are");
    text_puts(out, " missing");
    if (sums[CARE_GROUPS_SINGLE])
        text_printf(out, ", %" PRIu64 " groups have a single copy", sums[CARE_GROUPS_SINGLE]);
    if (sums[CARE_GROUPS_REFUSING]) {
        text_puts(out, ", ");
        text_count(out, sums[CARE_GROUPS_REFUSING], "group takes", "groups take");
        text_puts(out, " no changes");
    }
    stays = sums[CARE_COPIES_MISSING] - sums[CARE_COPIES_LEARNING] - sums[CARE_COPIES_DELAYED];
    if (sums[CARE_COPIES_LEARNING] + sums[CARE_COPIES_DELAYED]) {
        text_puts(out, "; about ");
        put_bytes(out, sums[CARE_BYTES_MISSING]);
        text_puts(out, " to recover");
    } else if (stays) {
        text_puts(out, "; no server is there that could make them");
    }
    if (sums[CARE_COPIES_LEARNING] || sums[CARE_BYTES_RATE]) {
        text_puts(out, ", at ");
        unit_text_rate(out, (double)sums[CARE_BYTES_RATE]);
        if (left != CARE_NEVER)
            text_printf(out, ", about %.0f s left", (double)left / 1e9);
    } else if (sums[CARE_COPIES_DELAYED] && sums[CARE_LEARNS_IN] != CARE_NEVER) {
        text_printf(out, ", which begins in %.0f s unless the servers come back",
                    (double)sums[CARE_LEARNS_IN] / 1e9);
    }
}

static bool pick_missing(const void *context, node_id server)
{
    return cluster_store_is_missing(context, server);
}

static bool pick_failed(const void *context, node_id server)
{
    const struct cluster_store *store = context;
    return cluster_store_reported(store, server) && store->reports[server].state >= CARE_FAILED;
}

static bool pick_damaged(const void *context, node_id server)
{
    return damaged_on(context, server) > 0;
}

static bool pick_full(const void *context, node_id server)
{
    const struct cluster_store *store = context;
    const uint64_t *counts = store->reports[server].counts;
    return cluster_store_reported(store, server) && is_full(counts);
}

void cluster_store_reason(const struct cluster_store *store, enum cluster_store_code code,
                          const struct plan *plan, struct text *out)
{
    switch (code) {
    case CLUSTER_STORE_UNAVAILABLE:
        if (!store->end.decides) {
            text_puts(out, "too few servers are there to decide who keeps the data");
            break;
        }
        text_count(out, store->sums[CARE_GROUPS_UNAVAILABLE], "group of keys is",
                   "groups of keys are");
        text_puts(out, " not available, because servers that may have the data are away");
        break;
    case CLUSTER_STORE_STARTING:
        text_count(out, not_serving(store), "group of keys is", "groups of keys are");
        text_puts(out, " not served yet");
        break;
    case CLUSTER_STORE_FAILED:
        text_puts(out, "the disk has failed, or belongs elsewhere: server ");
        cluster_list_servers(out, plan, pick_failed, store);
        break;
    case CLUSTER_STORE_DAMAGED:
        text_count(out, store->damaged, "record is", "records are");
        text_puts(out, " damaged, or differ between servers; weft store scrub repairs what other "
                       "servers have: server ");
        cluster_list_servers(out, plan, pick_damaged, store);
        break;
    case CLUSTER_STORE_FULL:
        text_puts(out, "no new values are taken, because the disk, or the memory for keys or for "
                       "values, is full: server ");
        cluster_list_servers(out, plan, pick_full, store);
        break;
    case CLUSTER_STORE_SHORT:
        put_short(store, out);
        break;
    case CLUSTER_STORE_MEMBERS:
        text_printf(out, "%u of %u servers take part in the store; not: ", store->members,
                    store->end.server_count);
        cluster_list_servers(out, plan, pick_missing, store);
        break;
    case CLUSTER_STORE_CODES:
        break;
    }
}
