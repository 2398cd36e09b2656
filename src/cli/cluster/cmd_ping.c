/* weft ping */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_target.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_report.h"
#include "cli/show/unit_text.h"
#include "os/cluster/cluster_ask.h"
#include "services/ping/ping_wire.h"
#include "transport/clock.h"

#define NSEC_PER_MS     1000000LL
#define COUNT_DEFAULT   1000
#define COUNT_EACH      UINT32_MAX /* with an interval: until Ctrl-C */
#define TIMEOUT_DEFAULT 1000
#define PATH_ROOM       24                 /* servers whose numbers fit a ping of default size */
#define PATIENCE_NSEC   (3 * NSEC_PER_SEC) /* in addition to the timeout of a ping */
#define TURN_NSEC       (NSEC_PER_SEC / 10)

struct pinger {
    struct call *call;
    struct cluster cluster;
    struct cluster_target target;
    node_id from;
    struct ping_request request;
    bool each; /* print a line for every ping */
    int handle;
    struct ping_answer answer, first, end; /* the last answer, the first reply, the end */
    bool replied;
    uint64_t *by;     /* answers of each server; owned */
    int64_t *samples; /* owned */
    size_t sample_count, sample_capacity;
    int64_t last_reply, gap_nsec; /* longest time without a reply */
    int last_error;               /* of a lost ping */
};

static enum err pinger_parse(struct pinger *pinger, struct why *why)
{
    struct call *call = pinger->call;
    uint64_t interval = 0, timeout = TIMEOUT_DEFAULT, size = PING_SIZE_OF_PATH(PATH_ROOM);
    pinger->each = call_has(call, "interval");
    uint64_t count = pinger->each ? COUNT_EACH : COUNT_DEFAULT;
    enum err err = call_uint(call, "count", 1, UINT32_MAX, &count, why);
    if (!err)
        err = call_uint(call, "interval", 0, 3600000, &interval, why);
    if (!err)
        err = call_uint(call, "timeout", 1, 3600000, &timeout, why);
    if (!err)
        err = call_uint(call, "size", PING_SIZE_MIN, PING_SIZE_MAX, &size, why);
    if (!err)
        err = cluster_target_any(&pinger->target, &pinger->cluster, call->arguments[0], why);
    if (!err)
        err = cluster_from(&pinger->cluster, call, &pinger->from, why);
    pinger->request = (struct ping_request){.kind = PING_START,
                                            .token = 1,
                                            .to_key = pinger->target.is_key,
                                            .server = pinger->target.server,
                                            .count = (uint32_t)count,
                                            .size = (uint16_t)size,
                                            .interval_nsec = (int64_t)interval * NSEC_PER_MS,
                                            .timeout_nsec = (int64_t)timeout * NSEC_PER_MS};
    memcpy(pinger->request.key.bytes, pinger->target.key.bytes, KEY_SIZE);
    return err;
}

/* ---- talking ---- */

static enum err request_send(struct pinger *pinger, struct why *why)
{
    uint8_t bytes[PING_REQUEST_MAX];
    size_t size = ping_request_write(&pinger->request, bytes);
    int error = cluster_tell(pinger->handle, PING_SERVICE, bytes, size);
    if (error < 0)
        return why_fail(why, ERR_SYSTEM, "server %u: %s", pinger->from, strerror(-error));
    return OK;
}

/* Ends the pings after Ctrl-C; the summary is still printed. */
static enum err stop_pass_on(struct pinger *pinger, struct why *why)
{
    if (!stop_asked() || pinger->request.kind == PING_STOP)
        return OK;
    pinger->request.kind = PING_STOP;
    return request_send(pinger, why);
}

static enum err answer_hear(struct pinger *pinger, struct why *why)
{
    uint8_t bytes[PING_ANSWER_MAX];
    int64_t patience = pinger->request.timeout_nsec + pinger->request.interval_nsec + PATIENCE_NSEC;
    int64_t deadline = clock_after(patience);
    for (;;) {
        enum err err = stop_pass_on(pinger, why);
        if (err)
            return err;
        int64_t turn = clock_after(TURN_NSEC);
        int size =
            cluster_hear(pinger->handle, bytes, sizeof bytes, turn < deadline ? turn : deadline);
        if (size >= 0)
            return ping_answer_read(&pinger->answer, bytes, (size_t)size) == 0
                       ? OK
                       : why_fail(why, ERR_SYSTEM,
                                  "server %u: sent a malformed answer; do weft and weftd have the "
                                  "same version?",
                                  pinger->from);
        if (size == -EINTR || (size == -ETIMEDOUT && clock_now() < deadline))
            continue;
        if (size == -ETIMEDOUT)
            return cluster_silent(&pinger->cluster, pinger->from, size, why);
        if (cluster_lock_holder(pinger->cluster.folder, pinger->from) <= 0)
            return why_fail(why, ERR_SYSTEM, "server %u, which sent the pings, has died",
                            pinger->from);
        return why_fail(why, ERR_SYSTEM, "server %u: %s", pinger->from, strerror(-size));
    }
}

/* ---- one answer ---- */

static enum err reply_take(struct pinger *pinger, struct why *why)
{
    const struct ping_answer *answer = &pinger->answer;
    int64_t now = clock_now();
    if (now - pinger->last_reply > pinger->gap_nsec)
        pinger->gap_nsec = now - pinger->last_reply;
    pinger->last_reply = now;
    if (!pinger->replied)
        pinger->first = *answer;
    pinger->replied = true;
    if (answer->server < pinger->cluster.plan.server_count)
        pinger->by[answer->server]++;
    if (!array_reserve(&pinger->samples, &pinger->sample_capacity, pinger->sample_count + 1,
                       sizeof *pinger->samples))
        return why_memory(why);
    pinger->samples[pinger->sample_count++] = answer->round_nsec;
    return OK;
}

static enum err each_print(struct pinger *pinger, struct why *why)
{
    const struct ping_answer *answer = &pinger->answer;
    struct text *out = &pinger->call->out;
    char name[CLUSTER_NAME_SIZE];
    text_printf(out, "%" PRIu32 ": ", answer->sequence);
    if (answer->kind == PING_LOST) {
        text_printf(out, "lost: %s\n",
                    answer->error == ETIMEDOUT ? "no answer in time" : strerror(answer->error));
    } else {
        unit_text_nsec(out, (double)answer->round_nsec);
        if (answer->server < pinger->cluster.plan.server_count)
            text_printf(out, " from %s", cluster_name(&pinger->cluster, answer->server, name));
        text_printf(out, ", %u + %u hops\n", answer->hops_there, answer->hops_back);
    }
    return call_flush(pinger->call, why);
}

static enum err answers_take(struct pinger *pinger, struct why *why)
{
    char name[CLUSTER_NAME_SIZE];
    pinger->last_reply = clock_now();
    for (;;) {
        enum err err = answer_hear(pinger, why);
        if (err)
            return err;
        switch (pinger->answer.kind) {
        case PING_REPLY:
            err = reply_take(pinger, why);
            break;
        case PING_LOST:
            pinger->last_error = pinger->answer.error;
            break;
        case PING_END:
            pinger->end = pinger->answer;
            if (clock_now() - pinger->last_reply > pinger->gap_nsec)
                pinger->gap_nsec = clock_now() - pinger->last_reply;
            return OK;
        case PING_REFUSED:
            return why_fail(why, ERR_SYSTEM, "server %s refuses: %s",
                            cluster_name(&pinger->cluster, pinger->from, name),
                            strerror(pinger->answer.error));
        }
        if (!err && pinger->each && !pinger->call->json)
            err = each_print(pinger, why);
        if (err)
            return err;
    }
}

/* ---- the summary ---- */

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static int64_t quantile(const struct pinger *pinger, double share)
{
    assert(pinger->sample_count > 0);
    return pinger->samples[(size_t)(share * (double)(pinger->sample_count - 1))];
}

/* Prints the path of the first answered ping, there and back. */
static void path_text(const struct pinger *pinger, struct text *out)
{
    const struct ping_answer *first = &pinger->first;
    const struct topology *topology = &pinger->cluster.topology;
    char buffer[NODE_NAME_SIZE];
    text_puts(out, topology_name(topology, pinger->from, buffer));
    for (unsigned i = 0; first->hops_there && i < first->path_count; i++)
        if (first->path[i] < pinger->cluster.plan.server_count)
            text_printf(out, " %s %s", i > first->path_turn ? "<" : ">",
                        topology_name(topology, first->path[i], buffer));
    if (first->hops_there &&
        first->path_turn < first->path_count) /* otherwise the ping had no room left */
        text_printf(out, " < %s", topology_name(topology, pinger->from, buffer));
}

static const char ping_page[] =
    "{?key}key {key}{:}server {server_name}{/} from {from_name}: {sent|ping|pings}, {answered} "
    "answered, {lost} lost{?late}, {late} late{/}\n"
    "{?answers}least {least_ns%t}, median {median_ns%t}, 99 % {p99_ns%t}, most {most_ns%t}; "
    "longest without an answer {longest_gap_ns%t}\n"
    "{?key}answered by {#answered_by|, }{name}: {count}{/}\n{/}"
    "path {path_text}\n{/}";

static void target_put(const struct pinger *pinger, struct result *result)
{
    char name[CLUSTER_NAME_SIZE], key[2 * KEY_SIZE + 1];
    result_uint(result, "from", pinger->from);
    result_string(result_hide(result), "from_name",
                  cluster_name(&pinger->cluster, pinger->from, name));
    if (pinger->target.is_key) {
        key_text(&pinger->target.key, key);
        result_string(result, "key", key);
    } else {
        result_uint(result, "server", pinger->target.server);
        result_string(result_hide(result), "server_name",
                      cluster_name(&pinger->cluster, pinger->target.server, name));
    }
}

static void path_put(const struct pinger *pinger, struct result *result)
{
    result_array(result_flat(result), "path");
    if (pinger->replied)
        result_uint(result, NULL, pinger->from);
    for (unsigned i = 0; pinger->replied && i < pinger->first.path_count; i++)
        result_uint(result, NULL, pinger->first.path[i]);
    result_end(result);
    path_text(pinger, result_words(result_hide(result), "path_text"));
}

static void report(struct pinger *pinger)
{
    const struct ping_answer *end = &pinger->end;
    struct result *result = call_result(pinger->call, ping_page);
    char name[CLUSTER_NAME_SIZE];
    target_put(pinger, result);
    result_uint(result, "sent", end->sent);
    result_uint(result, "answered", end->received);
    result_uint(result, "lost", end->lost);
    result_uint(result, "late", end->late);
    result_uint(result, "longest_gap_ns", (uint64_t)pinger->gap_nsec);
    result_bool(result_hide(result), "answers", pinger->sample_count > 0);
    if (pinger->sample_count) {
        result_uint(result, "least_ns", (uint64_t)quantile(pinger, 0));
        result_uint(result, "median_ns", (uint64_t)quantile(pinger, 0.5));
        result_uint(result, "p99_ns", (uint64_t)quantile(pinger, 0.99));
        result_uint(result, "most_ns", (uint64_t)quantile(pinger, 1));
        result_uint(result, "hops_there", pinger->first.hops_there);
        result_uint(result, "hops_back", pinger->first.hops_back);
    }
    path_put(pinger, result);
    result_array(result, "answered_by");
    for (node_id v = 0; v < pinger->cluster.plan.server_count; v++) {
        if (!pinger->by[v])
            continue;
        result_object(result, NULL);
        result_uint(result, "server", v);
        result_uint(result, "count", pinger->by[v]);
        result_string(result_hide(result), "name", cluster_name(&pinger->cluster, v, name));
        result_end(result);
    }
    result_end(result);
}

/* ---- */

static enum err pings_make(struct pinger *pinger, struct why *why)
{
    char name[CLUSTER_NAME_SIZE];
    pinger->by = calloc(pinger->cluster.plan.server_count, sizeof *pinger->by);
    if (!pinger->by)
        return why_memory(why);
    /* A ping to a dead server would only time out, so the command fails at once. */
    if (!pinger->target.is_key && !pinger->each &&
        cluster_lock_holder(pinger->cluster.folder, pinger->target.server) <= 0)
        return cluster_dead(&pinger->cluster, pinger->target.server, why);
    pinger->handle = cluster_connect(pinger->cluster.folder, pinger->from);
    if (pinger->handle < 0)
        return why_fail(why, ERR_SYSTEM, "server %s: %s",
                        cluster_name(&pinger->cluster, pinger->from, name),
                        strerror(-pinger->handle));
    stop_catch();
    enum err err = request_send(pinger, why);
    if (!err)
        err = answers_take(pinger, why);
    close(pinger->handle);
    return err;
}

static enum err ping_run(struct call *call, struct why *why)
{
    static struct pinger pinger;
    pinger = (struct pinger){.call = call};
    enum err err = cluster_open(&pinger.cluster, call, why);
    if (err)
        return err;
    err = pinger_parse(&pinger, why);
    if (!err)
        err = pings_make(&pinger, why);
    if (!err) {
        if (pinger.sample_count)
            qsort(pinger.samples, pinger.sample_count, sizeof *pinger.samples, compare);
        report(&pinger);
        call->no = !pinger.end.received;
    }
    free(pinger.samples);
    free(pinger.by);
    cluster_close(&pinger.cluster);
    return err;
}

static const struct option ping_options[] = {
    CLUSTER_OPTIONS,
    {"count", "N", "number of pings (default 1000; with --interval until Ctrl-C)"},
    {"from", "ID", "the server that sends them (default: the first that answers)"},
    {"interval", "MS",
     "print each ping, and send one at this interval (default: when the last is done)"},
    {"timeout", "MS", "a ping without an answer for this time is lost (default 1000)"},
    {"size", "BYTES", "payload of a ping (default 112, room for the numbers of 24 servers)"},
    {0},
};

const struct command command_ping = {
    .name = "ping",
    .group = "cluster",
    .arguments = "ID|KEY|NAME",
    .summary = "measure round trips to a server, or to the server of a key",
    .description =
        "A server of the cluster sends pings to another server, or to the root of a key. All "
        "servers on the path forward the pings and add their own numbers to them as long as there "
        "is room. The command prints how many pings were answered and how long they took, measured "
        "by the server that sent them; the longest time without an answer, measured by the "
        "command; and the path of the first answered ping.\n\n"
        "If the argument is the number or the name of a server, it means this server. If it is 0x "
        "and up to 40 hexadecimal digits, or 40 hexadecimal digits, it is a key. Any other word is "
        "a name, whose key is its SHA-1. Pings to a key continue when its root dies, because the "
        "next server takes over.\n\n"
        "The exit code is 1 if no ping was answered.\n\n"
        "With --json: from, server or key, sent, answered, lost, late, longest_gap_ns, least_ns, "
        "median_ns, p99_ns, most_ns, hops_there, hops_back, path (there and back), answered_by "
        "(server, count).",
    .options = ping_options,
    .examples = "  weft ping 26\n"
                "  weft ping photo.jpg --interval 100\n"
                "  weft ping 13 --from 5 --count 100000",
    .streams = true,
    .run = ping_run,
};
