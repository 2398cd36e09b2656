/* weft bench */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_view.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "os/cluster/cluster_ask.h"
#include "services/bench/bench_wire.h"
#include "transport/clock.h"

#define SECONDS_DEFAULT 2
#define SECONDS_MAX     600
#define WARM_SHARE      0.25 /* share of the time that is not measured */
#define RATE_DEFAULT    10000
#define RATE_MAX        100000000
#define SIZE_DEFAULT    1400
#define ANSWER_NSEC     (5 * NSEC_PER_SEC)
#define TURN_NSEC       (NSEC_PER_SEC / 10)

static const char *const mode_words[] = {"links", "servers", "keys", NULL};

struct bench {
    struct call *call;
    struct cluster cluster;
    struct bench_request request;
    double seconds;
    uint32_t senders; /* how many of `servers` send: the first ones */
    uint32_t count;   /* of `servers`: all that answer; they count what arrives */
    uint32_t silent;  /* servers that run but do not answer */
    node_id *servers; /* owned */
    int *handles;     /* connections to the senders, open until the end; owned */
    struct cluster_ask *asks;
    uint8_t *bytes; /* of the answers */
    struct bench_answer *before, *after;
};

/* The result, over all servers. */
struct outcome {
    double sent, received;             /* packets a second */
    double sent_bytes, received_bytes; /* payload a second */
    double refused, hops;              /* refused a second; mean hops of received packets */
    uint32_t link_count;               /* directions of links that carried packets */
    double *links;                     /* payload bytes a second of each, in order; owned */
};

static enum err bench_parse(struct bench *bench, struct why *why)
{
    struct call *call = bench->call;
    int mode = 0;
    uint64_t links = bench->cluster.plan.port_count, size = SIZE_DEFAULT, rate = RATE_DEFAULT;
    bench->seconds = SECONDS_DEFAULT;
    enum err err = call_choice(call, "mode", mode_words, &mode, why);
    if (!err)
        err = call_uint(call, "links", 1, bench->cluster.plan.port_count, &links, why);
    if (!err)
        err = call_uint(call, "size", BENCH_SIZE_MIN, BENCH_SIZE_MAX, &size, why);
    if (!err)
        err = call_uint(call, "rate", 1, RATE_MAX, &rate, why);
    if (!err)
        err = call_real(call, "seconds", 0.1, SECONDS_MAX, &bench->seconds, why);
    if (!err && mode && call_has(call, "links"))
        err = why_fail(why, ERR_USAGE, "--links: needs --mode links");
    if (!err && !mode && call_has(call, "rate"))
        err = why_fail(why, ERR_USAGE,
                       "--rate: cannot be combined with --mode links, which sends at full rate");
    bench->request = (struct bench_request){
        .kind = BENCH_START,
        .token = 1,
        .mode = (enum bench_mode)(BENCH_SATURATE + mode),
        .links = mode ? 0 : (uint8_t)links,
        .size = (uint16_t)size,
        .rate_milli = mode ? rate * 1000 : 0,
        /* A little longer than the measurement, at whose end the command stops the senders. */
        .duration_nsec = (int64_t)((bench->seconds + 2) * 1e9),
    };
    return err;
}

static enum err bench_memory(struct bench *bench, struct why *why)
{
    uint32_t most = bench->cluster.plan.server_count;
    bench->servers = calloc(most, sizeof *bench->servers);
    bench->handles = malloc(most * sizeof *bench->handles);
    bench->asks = calloc(most, sizeof *bench->asks);
    bench->bytes = malloc((size_t)most * BENCH_ANSWER_MAX);
    bench->before = calloc(most, sizeof *bench->before);
    bench->after = calloc(most, sizeof *bench->after);
    if (bench->servers && bench->handles && bench->asks && bench->bytes && bench->before &&
        bench->after)
        return OK;
    return why_memory(why);
}

static enum err servers_choose(struct bench *bench, struct why *why)
{
    node_id first;
    enum err err = cluster_from(&bench->cluster, bench->call, &first, why);
    if (err)
        return err;
    bench->servers[bench->count++] = first;
    for (node_id v = 0; v < bench->cluster.plan.server_count; v++)
        if (v != first && cluster_lock_holder(bench->cluster.folder, v) > 0)
            bench->servers[bench->count++] = v;
    return OK;
}

/* ---- asking ---- */

/* Sends the request to the senders, and asks all other servers for a report. The answers of servers
 * that died meanwhile stay zero. */
static void all_ask(struct bench *bench, enum bench_request_kind kind, struct bench_answer *answers)
{
    uint8_t questions[2][BENCH_REQUEST_MAX];
    size_t sizes[2];
    for (int sends = 0; sends < 2; sends++)
        sizes[sends] = bench_request_write(
            &(struct bench_request){.kind = sends ? kind : BENCH_REPORT, .token = 1},
            questions[sends]);
    for (uint32_t i = 0; i < bench->count; i++)
        bench->asks[i] = (struct cluster_ask){bench->servers[i],
                                              BENCH_SERVICE,
                                              questions[i < bench->senders],
                                              sizes[i < bench->senders],
                                              bench->bytes + (size_t)i * BENCH_ANSWER_MAX,
                                              BENCH_ANSWER_MAX,
                                              0};
    cluster_ask(bench->cluster.folder, bench->asks, bench->count, clock_after(ANSWER_NSEC));
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct cluster_ask *ask = &bench->asks[i];
        if (ask->result <= 0 ||
            bench_answer_read(&answers[i], ask->answer, (size_t)ask->result) < 0)
            answers[i] = (struct bench_answer){0};
    }
}

/* Leaves out servers that do not answer, because each request would wait for their timeout. */
static enum err silent_leave(struct bench *bench, struct why *why)
{
    uint32_t count = bench->count;
    bool from = call_has(bench->call, "from");
    all_ask(bench, BENCH_REPORT, bench->before);
    bench->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (bench->asks[i].result > 0)
            bench->servers[bench->count++] = bench->servers[i];
        else if (i == 0 && from)
            return cluster_silent(&bench->cluster, bench->servers[i], bench->asks[i].result, why);
        else
            bench->silent += cluster_lock_holder(bench->cluster.folder, bench->servers[i]) > 0;
    }
    if (!bench->count)
        return cluster_silent(&bench->cluster, bench->servers[0], bench->asks[0].result, why);
    bench->senders = from ? 1 : bench->count;
    return OK;
}

/* Starts the senders and keeps the connections, because a server stops when its client disconnects.
 * Returns the errno of the first refusal. */
static int all_start(struct bench *bench)
{
    uint8_t question[BENCH_REQUEST_MAX], answer[BENCH_ANSWER_MAX];
    size_t size = bench_request_write(&bench->request, question);
    int64_t deadline = clock_after(ANSWER_NSEC);
    int refusal = 0;
    for (uint32_t i = 0; i < bench->senders; i++) {
        bench->handles[i] = cluster_connect(bench->cluster.folder, bench->servers[i]);
        if (bench->handles[i] >= 0)
            (void)!cluster_tell(bench->handles[i], BENCH_SERVICE, question, size);
    }
    for (uint32_t i = 0; i < bench->senders; i++) {
        int got = bench->handles[i] < 0
                      ? bench->handles[i]
                      : cluster_hear(bench->handles[i], answer, sizeof answer, deadline);
        if (got > 0 && bench_answer_read(&bench->before[i], answer, (size_t)got) == 0 &&
            bench->before[i].error && !refusal)
            refusal = bench->before[i].error;
    }
    return refusal;
}

static void all_hang_up(struct bench *bench)
{
    for (uint32_t i = 0; i < bench->senders; i++)
        if (bench->handles[i] >= 0)
            close(bench->handles[i]);
}

/* Waits until that many seconds after the beginning. Returns false after Ctrl-C. */
static bool work(const struct bench *bench, int64_t begun, double until)
{
    int64_t end = begun + (int64_t)(until * 1e9), now;
    while (!stop_asked() && (now = clock_now()) < end) {
        progress_show("measuring", (uint64_t)(now - begun) / 1000000,
                      (uint64_t)(1000 * bench->seconds));
        int64_t turn = clock_after(TURN_NSEC);
        ripc_call_sleep(turn < end ? turn : end);
    }
    return !stop_asked();
}

static enum err bench_measure(struct bench *bench, struct why *why)
{
    int refusal = all_start(bench);
    if (refusal)
        all_hang_up(bench);
    if (refusal == EBUSY)
        return why_fail(why, ERR_SYSTEM,
                        "another weft bench runs in this cluster; wait until it ends");
    if (refusal)
        return why_fail(why, ERR_SYSTEM, "the servers refused the request: %s", strerror(refusal));
    int64_t begun = clock_now();
    bool whole = work(bench, begun, WARM_SHARE * bench->seconds);
    all_ask(bench, BENCH_REPORT, bench->before);
    whole = whole && work(bench, begun, bench->seconds);
    all_ask(bench, BENCH_STOP, bench->after);
    all_hang_up(bench);
    return whole ? OK : why_fail(why, ERR_SYSTEM, "interrupted");
}

/* ---- summing ---- */

static double per_second(uint64_t after, uint64_t before, int64_t length)
{
    return after > before ? (double)(after - before) * 1e9 / (double)length : 0;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static enum err outcome_make(struct outcome *outcome, const struct bench *bench, struct why *why)
{
    double hops = 0, arrived = 0;
    *outcome = (struct outcome){0};
    outcome->links = array_new((size_t)bench->count * BENCH_PORTS_MAX, sizeof *outcome->links);
    if (!outcome->links)
        return why_memory(why);
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct bench_answer *after = &bench->after[i], *before = &bench->before[i];
        /* A server that was asked late, because another one was silent, may have stopped sending
         * before. */
        bool ended = i < bench->senders && after->ends < after->now;
        int64_t length = (ended ? after->ends : after->now) - before->now;
        if (!before->now || length <= 0 || before->started != after->started ||
            after->received.packets < before->received.packets)
            continue; /* the server died or was restarted */
        outcome->sent += per_second(after->sent.packets, before->sent.packets, length);
        outcome->sent_bytes += per_second(after->sent.bytes, before->sent.bytes, length);
        outcome->received += per_second(after->received.packets, before->received.packets, length);
        outcome->received_bytes +=
            per_second(after->received.bytes, before->received.bytes, length);
        outcome->refused += per_second(after->refused, before->refused, length);
        arrived += (double)(after->received.packets - before->received.packets);
        hops += (double)(after->received_hops - before->received_hops);
        for (uint32_t p = 0; p < after->port_count && p < before->port_count; p++) {
            double out = per_second(after->ports[p].out.bytes, before->ports[p].out.bytes, length);
            if (out > 0)
                outcome->links[outcome->link_count++] = out;
        }
    }
    outcome->hops = arrived > 0 ? hops / arrived : 0;
    qsort(outcome->links, outcome->link_count, sizeof *outcome->links, compare);
    return OK;
}

static const char bench_page[] =
    "{servers|server|servers}{?saturating} saturating {links} links each"
    "{:} sending to random {mode}, {rate} packets/s each{/}, {size} bytes a packet, "
    "{seconds%.2f} s\n"
    "sent      {sent_per_second%.0f} packets/s, {sent_bytes_per_second%b}"
    "{?refusing}; {refused_per_second%.0f}/s did not fit the queue{/}\n"
    "received  {received_per_second%.0f} packets/s, {received_bytes_per_second%b}, {hops%.2f} hops "
    "each\n"
    "{?link_bytes_per_second}links     {link_bytes_per_second.directions} directions: "
    "{#links_shown|, }{title} {rate%b}{?line_rate} ({percent%.1f} % of line rate){/}{/}\n{/}"
    "{?silent}left out  {silent|server that runs but does|servers that run but do} not answer\n"
    "{/}";

static void links_put(const struct bench *bench, const struct outcome *outcome,
                      struct result *result)
{
    static const char *const titles[] = {"least", "median", "most"};
    const uint32_t at[] = {0, outcome->link_count / 2, outcome->link_count - 1};
    if (!outcome->link_count) {
        result_null(result, "link_bytes_per_second");
        return;
    }
    result_object(result, "link_bytes_per_second");
    result_uint(result, "directions", outcome->link_count);
    for (int i = 0; i < 3; i++)
        result_number(result, titles[i], outcome->links[at[i]]);
    result_end(result);
    result_array(result_hide(result), "links_shown");
    for (int i = 0; i < 3; i++) {
        double bytes = outcome->links[at[i]];
        result_object(result, NULL);
        result_string(result, "title", titles[i]);
        result_number(result, "rate", bytes);
        /* Payload as a share of the rate of the link. */
        result_number(result, "percent", 100 * (bytes * 8 / (double)bench->cluster.file.rate));
        result_end(result);
    }
    result_end(result);
}

static void report(const struct bench *bench, const struct outcome *outcome)
{
    struct result *result = call_result(bench->call, bench_page);
    const struct bench_request *request = &bench->request;
    result_string(result, "mode", mode_words[request->mode - BENCH_SATURATE]);
    result_bool(result_hide(result), "saturating", request->mode == BENCH_SATURATE);
    result_uint(result, "servers", bench->senders);
    result_uint(result, "silent", bench->silent);
    result_uint(result, "links", request->links);
    result_uint(result, "size", request->size);
    result_uint(result, "rate", request->rate_milli / 1000);
    result_number(result, "seconds", bench->seconds * (1 - WARM_SHARE));
    result_number(result, "sent_per_second", outcome->sent);
    result_number(result, "sent_bytes_per_second", outcome->sent_bytes);
    result_number(result, "received_per_second", outcome->received);
    result_number(result, "received_bytes_per_second", outcome->received_bytes);
    result_number(result, "refused_per_second", outcome->refused);
    result_bool(result_hide(result), "refusing", outcome->refused >= 1);
    result_number(result, "hops", outcome->hops);
    links_put(bench, outcome, result);
    result_uint(result, "line_rate", bench->cluster.file.rate);
}

static enum err bench_all(struct bench *bench, struct why *why)
{
    struct outcome outcome;
    enum err err = bench_parse(bench, why);
    if (!err)
        err = bench_memory(bench, why);
    if (!err)
        err = servers_choose(bench, why);
    if (err)
        return err;
    stop_catch();
    err = silent_leave(bench, why);
    if (!err)
        err = bench_measure(bench, why);
    if (!err)
        err = outcome_make(&outcome, bench, why);
    if (err)
        return err;
    report(bench, &outcome);
    free(outcome.links);
    return OK;
}

static enum err bench_run(struct call *call, struct why *why)
{
    struct bench bench = {.call = call};
    enum err err = cluster_open(&bench.cluster, call, why);
    if (err)
        return err;
    err = bench_all(&bench, why);
    free(bench.servers);
    free(bench.handles);
    free(bench.asks);
    free(bench.bytes);
    free(bench.before);
    free(bench.after);
    cluster_close(&bench.cluster);
    return err;
}

static const struct option bench_options[] = {
    CLUSTER_OPTIONS,
    {"mode", "links|servers|keys",
     "to neighbours at full rate, or to random servers or keys (default links)"},
    {"from", "ID", "only this server sends (default: all that answer)"},
    {"links", "L", "number of links of each server that are used (default: all)"},
    {"rate", "N", "packets a second from each server, to servers or keys (default 10000)"},
    {"size", "BYTES", "payload of a packet (default 1400)"},
    {"seconds", "S", "duration in seconds; the first quarter is not measured (default 2)"},
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .group = "cluster",
    .arguments = "",
    .summary = "measure how much a cluster carries: over links, to servers or to keys",
    .description =
        "The servers send packets to each other and count what arrives. With --mode links each "
        "server sends to its neighbours over its first L links, as much as these links carry. With "
        "--mode servers or keys each server sends to random servers or keys at the rate of --rate, "
        "over as many hops as needed.\n\n"
        "Bytes are bytes of payload. If links have a rate (weft up --rate), the command also "
        "prints which share of that rate they carry. This traffic comes on top of all other "
        "traffic; weft top shows the sum. Servers that run but do not answer are left out and "
        "counted.\n\n"
        "With --json: mode, servers, silent, links, size, rate, seconds, sent_per_second, "
        "received_per_second and the same for bytes, refused_per_second, hops, "
        "link_bytes_per_second (directions, least, median, most), line_rate.",
    .options = bench_options,
    .examples = "  weft bench\n"
                "  weft bench --links 1 --size 8900 --seconds 5\n"
                "  weft bench --mode keys --rate 1000",
    .run = bench_run,
};
