#include "sim/chaos/churn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/check.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/wide.h"
#include "services/bench/bench.h"
#include "sim/checkers/checker_oracle.h"
#include "sim/world/world.h"

#define CHECK_STEP    (PSEC_PER_SECOND / 50) /* between two checks of returning servers */
#define PROGRESS_STEP PSEC_PER_SECOND
#define WARM_UP       (2 * PSEC_PER_SECOND) /* until all servers know which are down */
/* For packets in flight after the load has stopped. */
#define QUIET  (3 * PSEC_PER_SECOND)
#define STREAM 0xc4u

static const struct weft_service *const services[] = {&service_bench, NULL};

struct churn {
    const struct churn_settings *settings;
    struct churn_result *result;
    struct world *world;
    struct world_watcher watcher;
    struct world_watcher *watchers[2]; /* the watcher, and NULL */
    struct checker_oracle oracle;
    struct rng rng;
    psec down_time; /* of each failure */
    psec fails_at;  /* the next one; PSEC_NEVER */
    node_id *up;    /* running servers, in no order */
    uint32_t up_count;
    node_id *down;    /* a ring of failed servers, the next to return first */
    psec *returns_at; /* when each of them returns */
    uint32_t down_first, down_count;
    node_id *coming; /* returned, but not settled yet */
    uint32_t coming_count;
    uint64_t *settled; /* servers that were seen to be settled; they stay so until they fail */
    double down_sum;   /* servers times picoseconds */
};

/* ---- counting ---- */

static bool is_ours(const struct packet *packet)
{
    return packet->service == BENCH_SERVICE && packet->kind == PACKET_TO_KEY;
}

static struct churn *churn_of(struct world_watcher *watcher)
{
    return container_of(watcher, struct churn, watcher);
}

static void saw_sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    churn_of(watcher)->result->sent += is_ours(packet);
}

static void saw_delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct churn *churn = churn_of(watcher);
    if (!is_ours(packet))
        return;
    struct churn_result *result = churn->result;
    result->delivered++;
    node_id rightful = checker_oracle_rightful(&churn->oracle, packet->route, at);
    if (rightful == NODE_NONE || result->misdelivered++)
        return;
    snprintf(result->first, sizeof result->first,
             "at %.6f s server %u delivers a packet for key %016llx, but %u comes first, is "
             "settled and is reachable",
             (double)world_now(churn->world) * 1e-12, at, (unsigned long long)packet->route,
             rightful);
}

static void saw_dropped(struct world_watcher *watcher, node_id at, const struct packet *packet,
                        enum drop_reason reason)
{
    churn_of(watcher)->result->dropped[reason] += is_ours(packet);
}

static void saw_lost(struct world_watcher *watcher, const struct packet *packet)
{
    churn_of(watcher)->result->lost += is_ours(packet);
}

static void saw_port(struct world_watcher *watcher, node_id at, unsigned port, bool up)
{
    checker_oracle_changed(&churn_of(watcher)->oracle);
}

static void saw_opened(struct world_watcher *watcher, node_id at, uint64_t incarnation)
{
    checker_oracle_changed(&churn_of(watcher)->oracle);
}

static void saw_closed(struct world_watcher *watcher, node_id at)
{
    struct churn *churn = churn_of(watcher);
    checker_oracle_changed(&churn->oracle);
    bitset_remove(churn->settled, at);
}

static const struct world_watcher_ops watcher_ops = {
    .sent = saw_sent,
    .delivered = saw_delivered,
    .dropped = saw_dropped,
    .lost = saw_lost,
    .port = saw_port,
    .opened = saw_opened,
    .closed = saw_closed,
};

/* ---- the oracle's view ---- */

static enum port_state oracle_port(void *context, node_id server, unsigned port)
{
    const struct churn *churn = context;
    const struct node *node = world_node(churn->world, server);
    struct port_snapshot snapshot;
    if (!node)
        return PORT_DOWN;
    node_snapshot_port(node, port, &snapshot);
    return snapshot.state;
}

static bool is_settled(void *context, node_id server)
{
    struct churn *churn = context;
    const struct node *node = world_node(churn->world, server);
    struct node_snapshot snapshot;
    if (!node || bitset_has(churn->settled, server))
        return node != NULL;
    node_snapshot(node, &snapshot);
    bitset_put(churn->settled, server, snapshot.settled);
    return snapshot.settled;
}

/* ---- failures and returns ---- */

static void on_answer(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
}

static void server_load(struct churn *churn, node_id server, enum bench_request_kind kind)
{
    const struct churn_settings *settings = churn->settings;
    struct bench_request request = {.kind = kind, .token = 1};
    uint8_t bytes[BENCH_REQUEST_MAX];
    if (kind == BENCH_START) {
        request.mode = BENCH_KEYS;
        request.size = settings->payload;
        request.rate_milli = settings->packets;
        request.duration_nsec = BENCH_DURATION_MAX;
    }
    uint32_t size = (uint32_t)bench_request_write(&request, bytes);
    int error = world_request(churn->world, server, BENCH_SERVICE, 1, bytes, size);
    assert(!error); /* it is running */
}

/* -log2 of the number as a fraction, with 32 fractional bits, by squaring. */
static uint64_t log2_inverse(uint64_t random)
{
    random |= 1;
    unsigned zeros = (unsigned)__builtin_clzll(random);
    uint64_t mantissa = random << zeros; /* 1 <= mantissa / 2^63 < 2 */
    uint64_t fraction = 0;
    for (unsigned i = 0; i < 32; i++) {
        uint128 square = (uint128)mantissa * mantissa; /* up to 4 */
        bool above = square >> 127;
        mantissa = (uint64_t)(square >> (above ? 64 : 63));
        fraction = fraction << 1 | above;
    }
    return ((uint64_t)(zeros + 1) << 32) - fraction;
}

psec churn_exponential(uint64_t random, psec mean)
{
    const uint64_t ln2 = 2977044472u; /* with 32 fractional bits */
    uint64_t nats = (uint64_t)((uint128)log2_inverse(random) * ln2 >> 32);
    return (psec)((uint128)mean * nats >> 32);
}

static psec failure_draw(struct churn *churn)
{
    uint64_t failures = churn->settings->failures;
    if (!failures)
        return PSEC_NEVER;
    psec mean = (psec)((uint128)PSEC_PER_SECOND * CHURN_MILLIONTHS / failures);
    return world_now(churn->world) + 1 + churn_exponential(rng_next(&churn->rng), mean);
}

/* The neighbours' carriers change when a server fails or returns. */
static void carriers_set(struct churn *churn, node_id server, bool on)
{
    const struct plan *plan = churn->settings->plan;
    for (unsigned port = 0; churn->settings->carrier && port < plan->port_count; port++) {
        const struct plan_end *end = plan_end(plan, server, port);
        if (end->server == NODE_NONE)
            continue;
        if (world_node(churn->world, end->server))
            world_carrier(churn->world, end->server, end->port, on);
        else if (on)
            world_carrier(churn->world, server, port, false);
    }
}

static void coming_forget(struct churn *churn, node_id server)
{
    for (uint32_t i = 0; i < churn->coming_count; i++)
        if (churn->coming[i] == server)
            churn->coming[i--] = churn->coming[--churn->coming_count];
}

/* Fails a random server that is up, for that time. */
static void server_fail(struct churn *churn, psec length)
{
    uint32_t total = churn->settings->plan->server_count;
    uint32_t index = (uint32_t)rng_below(&churn->rng, churn->up_count);
    node_id server = churn->up[index];
    churn->up[index] = churn->up[--churn->up_count];
    coming_forget(churn, server);
    uint32_t last = (churn->down_first + churn->down_count++) % total;
    churn->down[last] = server;
    churn->returns_at[last] = world_now(churn->world) + length;
    world_crash(churn->world, server);
    carriers_set(churn, server, false);
}

static void failure_happen(struct churn *churn)
{
    churn->fails_at = failure_draw(churn);
    if (churn->up_count < 2)
        return; /* at least one must be left */
    churn->result->failures++;
    server_fail(churn, churn->down_time);
}

/* Fails the share that is down at the beginning; these servers return one after the other. */
static void down_begin(struct churn *churn)
{
    const struct churn_settings *settings = churn->settings;
    if (!settings->failures)
        return;
    uint64_t total = settings->plan->server_count;
    uint64_t count = total * settings->down / CHURN_MILLIONTHS;
    for (uint64_t i = 0; i < count && churn->up_count > 1; i++)
        server_fail(churn, WARM_UP + churn->down_time / count * (i + 1));
    world_run(churn->world, WARM_UP);
}

static enum err server_return(struct churn *churn, struct why *why)
{
    uint32_t total = churn->settings->plan->server_count;
    node_id server = churn->down[churn->down_first];
    churn->down_first = (churn->down_first + 1) % total;
    churn->down_count--;
    churn->up[churn->up_count++] = server;
    churn->coming[churn->coming_count++] = server;
    churn->result->returns++;
    enum err err = world_restart(churn->world, server, why);
    if (!err)
        carriers_set(churn, server, true);
    return err;
}

static void coming_check(struct churn *churn)
{
    for (uint32_t i = 0; i < churn->coming_count;) {
        node_id server = churn->coming[i];
        if (!is_settled(churn, server)) {
            i++;
            continue;
        }
        churn->coming[i] = churn->coming[--churn->coming_count];
        server_load(churn, server, BENCH_START);
    }
}

static psec earlier(psec one, psec other)
{
    return one < other ? one : other;
}

static enum err churn_time(struct churn *churn, struct why *why)
{
    const struct churn_settings *settings = churn->settings;
    psec begin = world_now(churn->world), end = begin + settings->length;
    psec shown = begin + PROGRESS_STEP;
    enum err err = OK;
    while (world_now(churn->world) < end && !err) {
        psec now = world_now(churn->world), next = earlier(end, churn->fails_at);
        if (churn->down_count)
            next = earlier(next, churn->returns_at[churn->down_first]);
        if (churn->coming_count)
            next = earlier(next, now + CHECK_STEP);
        next = earlier(next, shown);
        churn->down_sum += (double)churn->down_count * (double)(next - now);
        world_run(churn->world, next);
        coming_check(churn);
        if (churn->down_count && next >= churn->returns_at[churn->down_first])
            err = server_return(churn, why);
        if (next >= churn->fails_at)
            failure_happen(churn);
        if (next >= shown) {
            shown += PROGRESS_STEP;
            if (settings->progress)
                settings->progress(settings->context, (double)(next - begin) * 1e-12);
        }
    }
    return err;
}

/* ---- a run ---- */

static enum err churn_open(struct churn *churn, struct why *why)
{
    const struct churn_settings *settings = churn->settings;
    uint32_t total = settings->plan->server_count;
    enum err err = checker_oracle_init(&churn->oracle, settings->plan, why);
    if (err)
        return err;
    churn->oracle.port = oracle_port;
    churn->oracle.settled = is_settled;
    churn->oracle.context = churn;
    churn->up = array_new(total, sizeof *churn->up);
    churn->down = array_new(total, sizeof *churn->down);
    churn->coming = array_new(total, sizeof *churn->coming);
    churn->returns_at = array_new(total, sizeof *churn->returns_at);
    churn->settled = array_new(bitset_words(total), sizeof *churn->settled);
    if (!churn->up || !churn->down || !churn->coming || !churn->returns_at || !churn->settled)
        return why_memory(why);
    for (; churn->up_count < total; churn->up_count++)
        churn->up[churn->up_count] = churn->up_count;
    if (settings->failures)
        churn->down_time =
            (psec)((uint128)PSEC_PER_SECOND * total * settings->down / settings->failures);
    churn->watchers[0] = &churn->watcher;
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = settings->plan;
    world.node.services = services;
    world.node.hello_nsec = settings->hello_nsec;
    world.node.silence_nsec = settings->silence_nsec;
    world.node.faults = settings->plants;
    world.seed = settings->seed;
    world.settled = true;
    world.watchers = churn->watchers;
    world.answer = on_answer;
    return world_open(&churn->world, &world, why);
}

static void churn_end(struct churn *churn)
{
    struct churn_result *result = churn->result;
    struct world_counts counts;
    result->down =
        churn->down_sum / ((double)churn->settings->length * churn->settings->plan->server_count);
    for (uint32_t i = 0; i < churn->up_count; i++)
        server_load(churn, churn->up[i], BENCH_STOP);
    world_run(churn->world, world_now(churn->world) + QUIET);
    result->left = result->sent - result->delivered - churn_dropped(result);
    world_count(churn->world, &counts);
    result->hops = counts.hops;
    result->events = counts.events;
    result->hash = world_hash(churn->world);
    result->memory = world_memory(churn->world);
}

uint64_t churn_dropped(const struct churn_result *result)
{
    uint64_t sum = result->lost + result->left;
    for (int i = 0; i < DROP_COUNT; i++)
        sum += result->dropped[i];
    return sum;
}

enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                   struct why *why)
{
    struct churn churn = {
        .settings = settings,
        .result = result,
        .watcher = {.name = "churn", .ops = &watcher_ops},
        .rng = rng_make(settings->seed, STREAM),
    };
    struct churn_result aside = {0};
    assert(settings->down <= 900000 && settings->packets && settings->length);
    *result = (struct churn_result){0};
    enum err err = churn_open(&churn, why);
    if (!err) {
        down_begin(&churn);
        churn.fails_at = failure_draw(&churn);
        for (uint32_t i = 0; i < churn.up_count; i++)
            server_load(&churn, churn.up[i], BENCH_START);
        err = churn_time(&churn, why);
    }
    if (!err)
        churn_end(&churn);
    if (churn.world) {
        churn.result = &aside; /* packets dropped now were counted as left */
        world_close(churn.world);
    }
    checker_oracle_fini(&churn.oracle);
    free(churn.up);
    free(churn.down);
    free(churn.coming);
    free(churn.returns_at);
    free(churn.settled);
    return err;
}
