#include "measured/camcube/camcube_traffic.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/check.h"
#include "measured/sample.h"
#include "services/bench/bench.h"
#include "sim/world/world.h"

#define NOTICE_STEP (PSEC_PER_SECOND / 10)
#define NOTICE_MAX  (60 * PSEC_PER_SECOND)

static const struct weft_service *const services[] = {&service_bench, NULL};

static bool lives(const bool *failed, node_id server)
{
    return !failed || !failed[server];
}

/* ---- the wiring ---- */

/* Searches breadth first from one server over servers that have not failed; adds the hops and the
 * number of servers reached. */
static void hops_from(const struct plan *plan, const bool *failed, node_id from, struct bfs *bfs,
                      double *hops, double *pairs)
{
    bfs_clear(bfs);
    bfs_start(bfs, from);
    for (node_id at; bfs_take(bfs, &at);) {
        *hops += bfs->level[at];
        for (unsigned port = 0; port < plan->port_count; port++) {
            node_id next = plan_end(plan, at, port)->server;
            if (next != NODE_NONE && lives(failed, next))
                bfs_visit(bfs, at, next);
        }
    }
    *pairs += bfs->count - 1;
}

enum err traffic_wiring(struct traffic_wiring *wiring, const struct plan *plan, const bool *failed,
                        struct why *why)
{
    struct bfs bfs;
    enum err err = bfs_init(&bfs, plan->server_count) ? OK : why_memory(why);
    double hops = 0, pairs = 0;
    *wiring = (struct traffic_wiring){0};
    for (node_id v = 0; v < plan->server_count && !err; v++) {
        if (!lives(failed, v))
            continue;
        wiring->servers++;
        hops_from(plan, failed, v, &bfs, &hops, &pairs);
        for (unsigned port = 0; port < plan->port_count; port++) {
            node_id next = plan_end(plan, v, port)->server;
            wiring->links += next != NODE_NONE && lives(failed, next);
        }
    }
    wiring->links /= wiring->servers;
    wiring->hops = hops / pairs;
    wiring->expected = wiring->links * TRAFFIC_LINK_BPS / wiring->hops;
    bfs_fini(&bfs);
    return err;
}

/* ---- the simulation ---- */

struct readings {
    struct bench_answer *before, *after, *now; /* of each server; now: the one to fill */
};

static void on_answer(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct readings *readings = context;
    int error = bench_answer_read(&readings->now[at], bytes, size);
    assert(!error && !readings->now[at].error); /* nothing here can damage the answer */
}

static void servers_ask(struct world *world, const struct bench_request *request)
{
    uint8_t question[BENCH_REQUEST_MAX];
    uint32_t size = (uint32_t)bench_request_write(request, question);
    for (node_id v = 0; v < world_plan(world)->server_count; v++) {
        if (!world_node(world, v))
            continue;
        int error = world_request(world, v, BENCH_SERVICE, 1, question, size);
        assert(!error);
    }
}

/* Crashes the failed servers and waits until all others have noticed it. */
static bool failures_happen(struct world *world, const bool *failed, double *noticed)
{
    uint32_t count = world_plan(world)->server_count;
    psec begun = world_now(world);
    for (node_id v = 0; v < count; v++)
        if (!lives(failed, v))
            world_crash(world, v);
    while (failed && world_now(world) - begun < NOTICE_MAX) {
        bool all = true;
        world_run(world, world_now(world) + NOTICE_STEP);
        for (node_id v = 0; v < count && all; v++)
            for (node_id other = 0; other < count && all && lives(failed, v); other++)
                all = lives(failed, other) || !node_reaches(world_node(world, v), other);
        *noticed = (double)(world_now(world) - begun) * 1e-12;
        if (all)
            return true;
    }
    return !failed;
}

static enum err found_fill(struct traffic_found *found, const struct traffic_job *job,
                           const struct readings *readings, struct why *why)
{
    uint32_t count = 0;
    double *rates = array_new(job->plan->server_count, sizeof *rates), hops = 0;
    if (!rates)
        return why_memory(why);
    found->low = INFINITY;
    for (node_id v = 0; v < job->plan->server_count; v++) {
        const struct bench_answer *before = &readings->before[v], *after = &readings->after[v];
        if (!lives(job->failed, v))
            continue;
        uint64_t received = after->received.packets - before->received.packets;
        uint64_t offered =
            after->sent.packets - before->sent.packets + after->refused - before->refused;
        double unit = TRAFFIC_FRAME_BITS * 1e9 / (double)(after->now - before->now);
        double rate = (double)received * unit;
        rates[count++] = rate;
        found->packets += received;
        hops += (double)(after->received_hops - before->received_hops);
        found->offered += (double)offered * unit;
        found->mean += rate;
        found->low = fmin(found->low, rate);
        found->high = fmax(found->high, rate);
    }
    found->offered /= count;
    found->mean /= count;
    found->hops = hops / (double)found->packets;
    found->median = sample_median(rates, count);
    free(rates);
    return OK;
}

static void world_load(struct world *world, const struct traffic_job *job,
                       struct readings *readings)
{
    const struct bench_request report = {.kind = BENCH_REPORT, .token = 1};
    const struct bench_request start = {
        .kind = BENCH_START,
        .token = 1,
        .mode = BENCH_SERVERS,
        .size = WEFT_PAYLOAD_MAX,
        .rate_milli = (uint64_t)llround(1000 * job->rate / TRAFFIC_FRAME_BITS),
        .duration_nsec = BENCH_DURATION_MAX,
    };
    readings->now = readings->before;
    servers_ask(world, &start);
    world_run(world, world_now(world) + job->warm);
    servers_ask(world, &report);
    world_run(world, world_now(world) + job->length);
    readings->now = readings->after;
    servers_ask(world, &report);
}

enum err traffic_simulate(struct traffic_found *found, const struct traffic_job *job,
                          struct why *why)
{
    struct world_settings settings = WORLD_DEFAULTS;
    struct readings readings = {
        .before = array_new(job->plan->server_count, sizeof *readings.before),
        .after = array_new(job->plan->server_count, sizeof *readings.after),
    };
    struct world *world;
    enum err err = readings.before && readings.after ? OK : why_memory(why);
    *found = (struct traffic_found){0};
    settings.plan = job->plan;
    settings.node.services = services;
    settings.seed = job->seed;
    settings.settled = true;
    settings.answer = on_answer;
    settings.context = &readings;
    if (!err)
        err = world_open(&world, &settings, why);
    if (!err) {
        if (failures_happen(world, job->failed, &found->noticed)) {
            world_load(world, job, &readings);
            err = found_fill(found, job, &readings, why);
        } else {
            err = why_fail(why, ERR_SYSTEM, "some servers did not notice the failed ones in time");
        }
        world_close(world);
    }
    free(readings.before);
    free(readings.after);
    return err;
}
