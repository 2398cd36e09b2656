#include "sim/churn.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "base/rng.h"
#include "services/bench.h"
#include "sim/checker_oracle.h"
#include "sim/world.h"

#define LOOK_STEP     (PSEC_PER_SECOND / 50) /* between two looks at those that come back */
#define PROGRESS_STEP PSEC_PER_SECOND
#define QUIET         (3 * PSEC_PER_SECOND) /* for what is under way when nobody sends any more */
#define STREAM        0xc4u

static const struct weft_service *const services[] = {&service_bench, NULL};

struct churn {
    const struct churn_settings *settings;
    struct churn_result *result;
    struct world *world;
    struct world_watcher watcher;
    struct world_watcher *watchers[2]; /* it, and NULL */
    struct checker_oracle oracle;
    struct rng rng;
    psec down_time; /* of each failure */
    psec fails_at;  /* the next; PSEC_NEVER */
    node_id *up;    /* those that live, in no order ... */
    uint32_t up_count;
    node_id *down;    /* ... a ring of those that do not, the next to return first, ... */
    psec *returns_at; /* ... and when */
    uint32_t down_first, down_count;
    node_id *coming; /* back, and not settled yet */
    uint32_t coming_count;
    double down_sum; /* servers times picoseconds */
};

/* ---- what is counted ---- */

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
    churn->result->delivered++;
    if (checker_oracle_rightful(&churn->oracle, packet->route, at) != NODE_NONE)
        churn->result->misdelivered++;
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
    checker_oracle_changed(&churn_of(watcher)->oracle);
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

/* ---- what the oracle knows ---- */

static enum port_state oracle_port(void *context, node_id server, unsigned port)
{
    const struct churn *churn = context;
    const struct node *node = world_node(churn->world, server);
    struct port_look look;
    if (!node)
        return PORT_DOWN;
    node_look_port(node, port, &look);
    return look.state;
}

static bool is_settled(void *context, node_id server)
{
    const struct churn *churn = context;
    const struct node *node = world_node(churn->world, server);
    struct node_look look;
    if (!node)
        return false;
    node_look(node, &look);
    return look.settled;
}

/* ---- what happens ---- */

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
        request.rate_milli = (uint64_t)llround(1000 * settings->packets);
        request.duration_nsec = BENCH_DURATION_MAX;
    }
    uint32_t size = (uint32_t)bench_request_write(&request, bytes);
    int error = world_request(churn->world, server, BENCH_SERVICE, 1, bytes, size);
    assert(!error); /* it lives */
}

/* Whole nanoseconds: the logarithm's last bits are the machine's. */
static psec failure_draw(struct churn *churn)
{
    if (churn->settings->failures <= 0)
        return PSEC_NEVER;
    double seconds = -log1p(-rng_unit(&churn->rng)) / churn->settings->failures;
    return world_now(churn->world) + (psec)(seconds * 1e9) * PSEC_PER_NSEC;
}

static void coming_forget(struct churn *churn, node_id server)
{
    for (uint32_t i = 0; i < churn->coming_count; i++)
        if (churn->coming[i] == server)
            churn->coming[i--] = churn->coming[--churn->coming_count];
}

static void server_fail(struct churn *churn)
{
    uint32_t total = churn->settings->plan->server_count;
    churn->fails_at = failure_draw(churn);
    if (churn->up_count < 2)
        return; /* somebody must be left */
    uint32_t index = (uint32_t)rng_below(&churn->rng, churn->up_count);
    node_id server = churn->up[index];
    churn->up[index] = churn->up[--churn->up_count];
    coming_forget(churn, server);
    uint32_t last = (churn->down_first + churn->down_count++) % total;
    churn->down[last] = server;
    churn->returns_at[last] = world_now(churn->world) + churn->down_time;
    churn->result->failures++;
    world_crash(churn->world, server);
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
    return world_restart(churn->world, server, why);
}

static void coming_look(struct churn *churn)
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
    psec end = (psec)(settings->seconds * 1e9) * PSEC_PER_NSEC, shown = PROGRESS_STEP;
    enum err err = OK;
    while (world_now(churn->world) < end && !err) {
        psec now = world_now(churn->world), next = earlier(end, churn->fails_at);
        if (churn->down_count)
            next = earlier(next, churn->returns_at[churn->down_first]);
        if (churn->coming_count)
            next = earlier(next, now + LOOK_STEP);
        next = earlier(next, shown);
        churn->down_sum += (double)churn->down_count * (double)(next - now);
        world_run(churn->world, next);
        coming_look(churn);
        if (churn->down_count && next >= churn->returns_at[churn->down_first])
            err = server_return(churn, why);
        if (next >= churn->fails_at)
            server_fail(churn);
        if (next >= shown) {
            shown += PROGRESS_STEP;
            if (settings->progress)
                settings->progress(settings->context, (double)next * 1e-12);
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
    if (!churn->up || !churn->down || !churn->coming || !churn->returns_at)
        return why_memory(why);
    for (; churn->up_count < total; churn->up_count++)
        churn->up[churn->up_count] = churn->up_count;
    if (settings->failures > 0)
        churn->down_time =
            (psec)(settings->down * total / settings->failures * 1e9) * PSEC_PER_NSEC;
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
    double length = (double)world_now(churn->world);
    result->down = churn->down_sum / (length * churn->settings->plan->server_count);
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
    assert(settings->down >= 0 && settings->down <= 0.9);
    *result = (struct churn_result){0};
    enum err err = churn_open(&churn, why);
    if (!err) {
        churn.fails_at = failure_draw(&churn);
        for (uint32_t i = 0; i < churn.up_count; i++)
            server_load(&churn, churn.up[i], BENCH_START);
        err = churn_time(&churn, why);
    }
    if (!err)
        churn_end(&churn);
    if (churn.world) {
        struct churn_result aside = {
            0}; /* who stops now drops what it holds: it was counted as left */
        churn.result = &aside;
        world_close(churn.world);
    }
    checker_oracle_fini(&churn.oracle);
    free(churn.up);
    free(churn.down);
    free(churn.coming);
    free(churn.returns_at);
    return err;
}
