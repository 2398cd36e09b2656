/* weft store status */
#include <errno.h>
#include <string.h>

#include "cli/cluster/cluster_health.h"
#include "cli/cluster/cluster_store.h"
#include "cli/commands.h"
#include "cli/core/progress.h"
#include "cli/store/store_care.h"
#include "transport/clock.h"

#define WAIT_MAX   3600
#define AGAIN_NSEC 200000000LL
#define SHOWN      10 /* groups that are not available, in the text */

static const char *const state_words[CARE_STATES] = {
    [CARE_OPENS] = "opens its files",  [CARE_JOINS] = "joins",
    [CARE_MEMBER] = "member",          [CARE_FAILED] = "failed",
    [CARE_REFUSED] = "refuses to run",
};

static const char *const reason_words[] = {
    [CARE_WAITS] = "waits", [CARE_AWAY] = "away", [CARE_GONE] = "gone"};

static const char status_page[] =
    "{health}\n"
    "{#reasons}  {code}: {text}\n{/}"
    "view      {epoch}, {members} of {servers} servers{?missing}; not: {#missing|, }{.}{/}{/}"
    "{?silent}; no answer: {#silent|, }{.}{/}{/}"
    "{?released}; to keep nothing: {#released|, }{.}{/}{/}\n"
    "groups    {groups.all}: {groups.whole} with all copies{?groups.short}, "
    "{groups.short} with fewer{/}{?groups.single}, {groups.single} with a single one{/}"
    "{?groups.starting}, {groups.starting} not ready{/}"
    "{?groups.waiting}, {groups.waiting} wait for a server{/}"
    "{?groups.unavailable}, {groups.unavailable} not available{/}"
    "{?groups.unknown}, {groups.unknown} unknown{/}\n"
    "{#unavailable_shown}          group {group}: {text}\n{/}"
    "{?unavailable_more}          and {unavailable_more|group|groups} more\n{/}"
    "data      {records|record|records}, {live_bytes} bytes needed of {disk_bytes} on all disks"
    "{?memory_bytes}, {memory_bytes} needed in memory{/}\n"
    "{?recovery.copies_missing}recovery  {recovery.copies_missing|copy|copies} missing, "
    "{recovery.copies_learning} being made; about {recovery.bytes_missing} bytes in "
    "{recovery.records_missing|record|records} to recover, {recovery.bytes_rate%b}"
    "{?recovery.left_known}, about {recovery.seconds_left%.0f} s left{/}"
    "{?recovery.delayed}, begins in {recovery.begins_in%.0f} s{/}\n{/}"
    "scrub     {?scrub.running}{scrub.running|server|servers} at work, {scrub.percent%.0f} %{:}"
    "{?scrub.never}not every server has ended one{:}the last ended {scrub.age%.0f} s ago{/}{/}; "
    "{scrub.records|record|records} read, {scrub.damaged} damaged, {scrub.mended} repaired, "
    "{scrub.differing} differing\n"
    "\n{=><>>>>>}server\tstate\tview\tgroups\tled\tneeded\ton disk\n"
    "{#nodes}{id}\t{state}{?disk_full}, disk full{/}{?memory_full}, memory full{/}"
    "{?keys_full}, no room for keys{/}{?error}: "
    "{error}{/}\t{epoch}\t{groups_held}\t{groups_led}\t{live_bytes}\t{disk_bytes}\n{/}{/}";

static void put_groups(const struct cluster_store *store, struct result *result)
{
    const uint64_t *sums = store->sums;
    result_object(result, "groups");
    result_uint(result, "all", store->end.group_count);
    result_uint(result, "whole", sums[CARE_GROUPS_LED] - sums[CARE_GROUPS_SHORT]);
    result_uint(result, "short", sums[CARE_GROUPS_SHORT]);
    result_uint(result, "single", sums[CARE_GROUPS_SINGLE]);
    result_uint(result, "refusing", sums[CARE_GROUPS_REFUSING]);
    result_uint(result, "starting", sums[CARE_GROUPS_STARTING]);
    result_uint(result, "waiting", sums[CARE_GROUPS_WAITING]);
    result_uint(result, "unavailable", sums[CARE_GROUPS_UNAVAILABLE]);
    result_uint(result, "unknown", store->unknown);
    result_end(result);
}

static void put_trouble(const struct care_trouble *trouble, struct result *result)
{
    struct text *text;
    result_object(result, NULL);
    result_uint(result, "group", trouble->group);
    result_string(result, "reason", reason_words[trouble->reason]);
    result_uint_if(result, "server", trouble->server != CARE_NONE, trouble->server);
    text = result_words(result_hide(result), "text");
    if (trouble->reason == CARE_GONE)
        text_puts(text, "no server that is there has its data");
    else if (trouble->reason == CARE_AWAY)
        text_printf(text,
                    "server %u, which is away or has lost its disk, may have data that the "
                    "others lack",
                    trouble->server);
    else if (trouble->server == CARE_NONE)
        text_puts(text, "waits for the servers that have its data");
    else
        text_printf(text, "waits for server %u", trouble->server);
    result_end(result);
}

/* The list for programs, and a short one for people. */
static void put_troubles(const struct cluster_store *store, struct result *result)
{
    uint64_t all = store->sums[CARE_GROUPS_WAITING] + store->sums[CARE_GROUPS_UNAVAILABLE];
    uint64_t shown = 0;
    for (int page = 0; page < 2; page++) {
        uint64_t most = page ? SHOWN : UINT64_MAX, count = 0;
        result_array(page ? result_hide(result) : result,
                     page ? "unavailable_shown" : "unavailable");
        for (uint32_t i = 0; i < store->end.server_count; i++) {
            const struct care_report *one = &store->reports[i];
            for (uint32_t j = 0; cluster_store_reported(store, i) && j < one->trouble_count; j++)
                if (count < most) {
                    put_trouble(&one->troubles[j], result);
                    count++;
                }
        }
        result_end(result);
        shown = count;
    }
    result_uint(result_hide(result), "unavailable_more", all > shown ? all - shown : 0);
}

static void put_recovery(const struct cluster_store *store, struct result *result)
{
    const uint64_t *sums = store->sums;
    uint64_t left = cluster_store_left(store);
    bool delayed = sums[CARE_COPIES_DELAYED] && !sums[CARE_COPIES_LEARNING] &&
                   sums[CARE_LEARNS_IN] != CARE_NEVER && sums[CARE_LEARNS_IN] > 0;
    result_object(result, "recovery");
    for (unsigned i = CARE_COPIES_MISSING; i <= CARE_COPIES_DELAYED; i++)
        result_uint(result, care_count_names[i], sums[i]);
    for (unsigned i = CARE_RECORDS_MISSING; i <= CARE_BYTES_RATE; i++)
        result_uint(result, care_count_names[i], sums[i]);
    if (left == CARE_NEVER)
        result_null(result, "seconds_left");
    else
        result_number(result, "seconds_left", (double)left / 1e9);
    if (delayed)
        result_number(result, "begins_in", (double)sums[CARE_LEARNS_IN] / 1e9);
    else
        result_null(result, "begins_in");
    result_bool(result_hide(result), "left_known", left != CARE_NEVER && left > 0);
    result_bool(result_hide(result), "delayed", delayed);
    result_end(result);
}

static void put_scrub(const struct cluster_store *store, struct result *result)
{
    const uint64_t *sums = store->sums;
    uint64_t oldest = 0, all = (uint64_t)store->end.group_count * store->members;
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        uint64_t age = store->reports[i].counts[CARE_SCRUB_AGE];
        if (!cluster_store_is_missing(store, i) && age > oldest)
            oldest = age;
    }
    result_object(result, "scrub");
    result_uint(result, "running", sums[CARE_SCRUB_RUNS]);
    result_number(result, "percent", all ? 100 * (double)sums[CARE_SCRUB_GROUPS] / (double)all : 0);
    if (oldest == CARE_NEVER)
        result_null(result, "age");
    else
        result_number(result, "age", (double)oldest / 1e9);
    result_bool(result_hide(result), "never", oldest == CARE_NEVER);
    for (unsigned i = CARE_SCRUB_RECORDS; i <= CARE_SCRUB_SKIPPED; i++)
        result_uint(result, care_count_names[i] + strlen("scrub_"), sums[i]);
    result_end(result);
}

/* Why a server does not take part. */
static const char *error_text(int error)
{
    switch (error) {
    case 0:
        return NULL;
    case -EXDEV:
        return "its disk belongs to another server or another cluster";
    case -EMEDIUMTYPE:
        return "its disk was set up with other store.spaces, store.group_count or store.medium";
    case -EPROTO:
        return "a later version of weft has written its disk";
    default:
        return strerror(-error);
    }
}

static void put_node(const struct care_report *report, struct result *result)
{
    result_object(result, NULL);
    result_uint(result, "id", report->server);
    result_string(result, "state", state_words[report->state]);
    result_uint(result, "epoch", report->epoch);
    result_string(result, "error", error_text(report->error));
    for (unsigned i = 0; i < CARE_COUNTS; i++) {
        if (i == CARE_LEARNS_IN || i == CARE_SCRUB_AGE)
            result_uint_if(result, care_count_names[i], report->counts[i] != CARE_NEVER,
                           report->counts[i]);
        else
            result_uint(result, care_count_names[i], report->counts[i]);
    }
    result_end(result);
}

static void put_servers(const struct cluster_store *store, struct result *result, const char *key,
                        bool silent)
{
    result_array(result_flat(result), key);
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        bool is_silent = !cluster_store_reported(store, i);
        if (silent ? is_silent : !is_silent && cluster_store_is_missing(store, i))
            result_uint(result, NULL, i);
    }
    result_end(result);
}

static void put_reasons(const struct store_care *care, struct result *result)
{
    result_string(result, "health", health_names[cluster_store_health(&care->store)]);
    result_array(result, "reasons");
    for (int i = 0; i < CLUSTER_STORE_CODES; i++) {
        enum cluster_store_code code = (enum cluster_store_code)i;
        if (!cluster_store_has(&care->store, code))
            continue;
        result_object(result, NULL);
        result_string(result, "code", cluster_store_names[code]);
        result_string(result, "severity", health_names[cluster_store_severity(code)]);
        cluster_store_reason(&care->store, code, &care->cluster.plan, result_words(result, "text"));
        result_end(result);
    }
    result_end(result);
}

static void report(const struct store_care *care, struct call *call)
{
    const struct cluster_store *store = &care->store;
    struct result *result = call_result(call, status_page);
    put_reasons(care, result);
    result_uint(result, "epoch", store->epoch);
    result_uint(result, "servers", store->end.server_count);
    result_uint(result, "members", store->members);
    put_servers(store, result, "missing", false);
    put_servers(store, result, "silent", true);
    result_array(result_flat(result), "released");
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        if (care_has(store->end.released, i))
            result_uint(result, NULL, i);
    }
    result_end(result);
    result_uint(result, "copies", store->end.copies);
    result_uint(result, "least", store->end.least);
    put_groups(store, result);
    put_troubles(store, result);
    put_recovery(store, result);
    put_scrub(store, result);
    result_uint(result, "records", store->sums[CARE_RECORDS]);
    result_uint(result, "live_bytes", store->sums[CARE_LIVE_BYTES]);
    result_uint(result, "disk_bytes", store->sums[CARE_DISK_BYTES]);
    result_uint(result, "memory_bytes", store->sums[CARE_MEMORY_BYTES]);
    result_array(result, "nodes");
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        if (cluster_store_reported(store, i))
            put_node(&store->reports[i], result);
    }
    result_end(result);
}

/* While it waits. */
static void show_progress(const struct cluster_store *store)
{
    static uint64_t most;
    uint64_t missing = store->sums[CARE_RECORDS_MISSING];
    most = missing > most ? missing : most;
    progress_show("records recovered", most - missing, most);
}

static enum err status_run(struct call *call, struct why *why)
{
    struct store_care care;
    struct care_request request = {.kind = CARE_STATUS};
    double wait = 0;
    enum err err = call_real(call, "wait", 0, WAIT_MAX, &wait, why);
    if (err)
        return err;
    int64_t deadline = clock_after((int64_t)(wait * 1e9));
    for (;;) {
        err = store_care_ask(&care, call, &request, why);
        if (err)
            return err;
        if (cluster_store_health(&care.store) == HEALTH_OK || clock_now() >= deadline)
            break;
        show_progress(&care.store);
        store_care_close(&care);
        clock_nap(AGAIN_NSEC);
    }
    report(&care, call);
    call->no = cluster_store_health(&care.store) != HEALTH_OK;
    store_care_close(&care);
    return OK;
}

static const struct option status_options[] = {
    STORE_CARE_OPTIONS,
    {"wait", "S", "seconds to wait until the verdict is OK (default 0)"},
    {0},
};

const struct command command_store_status = {
    .name = "store status",
    .arguments = "",
    .summary = "print the health of the store: its servers, copies, recovery and disks",
    .description =
        "Asks one server, which asks all others, and prints a verdict: OK, WARN or ERR, a line for "
        "each reason, and what the servers report. The exit code is 0 if the verdict is OK and 1 "
        "otherwise. The keys of the store are divided into groups; each group has copies on "
        "several servers. The reasons are:\n\n"
        "  STORE_UNAVAILABLE ERR   groups cannot be read, because servers that may have the data\n"
        "                          are away, or too few servers are there to decide\n"
        "  STORE_STARTING    WARN  groups are not served yet, as after a start\n"
        "  STORE_FAILED      WARN  disks of servers have failed, or belong to other servers\n"
        "  STORE_DAMAGED     WARN  the last scrub or verify has found damage that is still there\n"
        "  STORE_FULL        WARN  servers have no space for values, or no memory for keys\n"
        "  STORE_SHORT       WARN  copies of groups are missing, and are made again\n"
        "  STORE_MEMBERS     WARN  planned servers do not take part in the store\n\n"
        "How much is to be recovered is an estimate from the records of the groups and the mean "
        "size of a record.\n\n"
        "With --json: health, reasons (code, severity, text), epoch, servers, members, missing and "
        "silent "
        "(servers), released (servers that are drained or replaced), copies, least (copies without "
        "which nothing is changed), groups, unavailable "
        "(group, reason, server), recovery, scrub (age in seconds), records, live_bytes, "
        "disk_bytes, memory_bytes, nodes (with all "
        "counts).",
    .options = status_options,
    .examples = "  weft store status\n"
                "  weft store status --json | jq .recovery.copies_missing",
    .run = status_run,
};
