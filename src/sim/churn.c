#include "sim/churn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/wide.h"
#include "sim/checker_oracle.h"
#include "sim/world.h"

#define CHURN_SERVICE 244
#define STREAM_CHURN  0xc402
#define SLICE         (PSEC_PER_SECOND / 10)
#define WARM_UP       (2 * PSEC_PER_SECOND) /* until everybody knows who is down */
#define DRAIN         (2 * PSEC_PER_SECOND) /* until everything has arrived */

/* ---- the load ---- */

struct load {
    int64_t interval; /* 0: none */
    int64_t next;     /* when the next packet is due; fractions of a nanosecond are lost */
};

static void load_timer(struct weft_self *self, uint64_t cookie)
{
    struct load *load = weft_memory(self);
    if (!load->interval)
        return;
    struct weft_packet *packet = weft_packet_hollow(self, 64, 0);
    if (packet) {
        struct weft_key key = {{0}};
        uint64_t route = weft_random(self);
        for (unsigned i = 0; i < 8; i++)
            key.bytes[WEFT_KEY_SIZE - 1 - i] = (uint8_t)(route >> 8 * i);
        (void)weft_send_key(self, packet, &key); /* what is dropped is counted */
    }
    load->next += load->interval;
    (void)weft_timer(self, load->next, 0);
}

/* An interval, in nanoseconds; servers begin at any moment within it. */
static void load_request(struct weft_self *self, uint64_t client, const void *bytes, uint32_t size)
{
    struct load *load = weft_memory(self);
    bool running = load->interval != 0;
    if (size != sizeof load->interval)
        return;
    memcpy(&load->interval, bytes, sizeof load->interval);
    if (running || !load->interval)
        return;
    load->next = weft_now(self) + 1 + (int64_t)(weft_random(self) % (uint64_t)load->interval);
    (void)weft_timer(self, load->next, 0);
}

static void load_deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static const struct weft_service_ops load_ops = {
    .deliver = load_deliver,
    .timer = load_timer,
    .request = load_request,
};

static const struct weft_service load_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "churn",
    .id = CHURN_SERVICE,
    .size = sizeof(struct load),
    .ops = &load_ops,
};

/* ---- the run ---- */

/* Somebody who is down, and when he returns. */
struct absence {
    psec until;
    node_id server;
};

struct churn {
    const struct churn_settings *settings;
    const struct plan *plan;
    struct churn_result *result;
    struct world_watcher watcher;
    struct world *world;
    struct checker_oracle oracle;
    struct rng rng;
    bool counting;
    uint64_t *settled; /* servers that were seen to have settled; they stay so for life */
    /* A ring: who fails first returns first. */
    struct absence *absences;
    uint32_t first, absent_count;
    psec next_failure;
    psec begin, end;
};

static struct churn *churn_of(struct world_watcher *watcher)
{
    return container_of(watcher, struct churn, watcher);
}

static void saw_sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    churn_of(watcher)->result->sent++;
}

static void saw_delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct churn *churn = churn_of(watcher);
    struct churn_result *result = churn->result;
    result->delivered++;
    result->hops += packet->hops;
    result->hops_max = packet->hops > result->hops_max ? packet->hops : result->hops_max;
    node_id rightful = checker_oracle_rightful(&churn->oracle, packet->route, at);
    if (rightful == NODE_NONE || result->misdelivered++)
        return;
    snprintf(
        result->first, sizeof result->first,
        "at %.6f s server %u delivers a packet for key %016llx, but %u comes first, is settled "
        "and can be reached",
        (double)world_now(churn->world) / (double)PSEC_PER_SECOND, at,
        (unsigned long long)packet->route, rightful);
}

static void saw_dropped(struct world_watcher *watcher, node_id at, const struct packet *packet,
                        enum drop_reason reason)
{
    churn_of(watcher)->result->dropped[reason] += packet->service == CHURN_SERVICE;
}

static void saw_lost(struct world_watcher *watcher, const struct packet *packet)
{
    churn_of(watcher)->result->lost += packet->service == CHURN_SERVICE;
}

/* Each is a server that would deliver the other's keys. */
static bool counts_on(void *context, node_id one, node_id other)
{
    struct churn *churn = context;
    const struct node *node = world_node(churn->world, one);
    if (node && node_counts_on(node, other))
        return true;
    churn->result->unknown++;
    return false;
}

static void saw_port(struct world_watcher *watcher, node_id at, unsigned port, bool up)
{
    struct churn *churn = churn_of(watcher);
    if (up)
        checker_oracle_up(&churn->oracle, at, port, counts_on, churn);
    else
        checker_oracle_changed(&churn->oracle);
}

static void saw_closed(struct world_watcher *watcher, node_id at)
{
    struct churn *churn = churn_of(watcher);
    checker_oracle_changed(&churn->oracle);
    churn->settled[at / 64] &= ~((uint64_t)1 << at % 64);
}

static const struct world_watcher_ops watcher_ops = {
    .sent = saw_sent,
    .delivered = saw_delivered,
    .dropped = saw_dropped,
    .lost = saw_lost,
    .port = saw_port,
    .closed = saw_closed,
};

static enum port_state oracle_port(void *context, node_id server, unsigned port)
{
    const struct node *node = world_node(((struct churn *)context)->world, server);
    if (!node)
        return PORT_DOWN;
    struct port_look look;
    node_look_port(node, port, &look);
    return look.state;
}

static bool oracle_settled(void *context, node_id server)
{
    struct churn *churn = context;
    uint64_t bit = (uint64_t)1 << server % 64;
    const struct node *node = world_node(churn->world, server);
    if (!node || churn->settled[server / 64] & bit)
        return node != NULL;
    struct node_look look;
    node_look(node, &look);
    churn->settled[server / 64] |= look.settled ? bit : 0;
    return look.settled;
}

/* ---- failing and returning ---- */

/* -log2 of the number as a fraction, 32 bits behind the point, by squaring. */
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
    const uint64_t ln2 = 2977044472u; /* 32 bits behind the point */
    uint64_t nats = (uint64_t)((uint128)log2_inverse(random) * ln2 >> 32);
    return (psec)((uint128)mean * nats >> 32);
}

static void load_set(struct churn *churn, node_id server)
{
    int64_t interval =
        churn->counting ? 1000000000 / (int64_t)churn->settings->packets_per_second : 0;
    (void)world_request(churn->world, server, CHURN_SERVICE, 0, &interval, sizeof interval);
}

/* What the neighbours notice by themselves. */
static void carriers_set(struct churn *churn, node_id server, bool on)
{
    for (unsigned port = 0; churn->settings->carrier && port < churn->plan->port_count; port++) {
        const struct plan_end *end = plan_end(churn->plan, server, port);
        if (end->server == NODE_NONE)
            continue;
        world_carrier(churn->world, end->server, end->port, on);
        if (on && !world_node(churn->world, end->server))
            world_carrier(churn->world, server, port, false);
    }
}

static void server_fail(struct churn *churn, node_id server, psec length)
{
    uint32_t count = churn->plan->server_count;
    world_crash(churn->world, server);
    carriers_set(churn, server, false);
    churn->absences[(churn->first + churn->absent_count++) % count] =
        (struct absence){world_now(churn->world) + length, server};
}

static enum err server_return(struct churn *churn, struct why *why)
{
    node_id server = churn->absences[churn->first].server;
    churn->first = (churn->first + 1) % churn->plan->server_count;
    churn->absent_count--;
    enum err err = world_restart(churn->world, server, why);
    if (err)
        return err;
    carriers_set(churn, server, true);
    load_set(churn, server);
    churn->result->returns++;
    return OK;
}

static node_id any_up(struct churn *churn)
{
    for (;;) {
        node_id server = (node_id)rng_below(&churn->rng, churn->plan->server_count);
        if (world_node(churn->world, server))
            return server;
    }
}

static void next_failure_draw(struct churn *churn)
{
    /* Half of the rate, which is in millionths. */
    psec mean = (psec)((uint128)2 * PSEC_PER_SECOND * CHURN_MILLIONTHS / churn->settings->rate);
    churn->next_failure += 1 + churn_exponential(rng_next(&churn->rng), mean);
}

static void fail_next(struct churn *churn)
{
    next_failure_draw(churn);
    if (churn->absent_count + 1 >= churn->plan->server_count)
        return; /* somebody has to stay */
    server_fail(churn, any_up(churn), churn->result->down_for);
    churn->result->failures++;
}

/* The share that is down when it begins; they return one after the other. */
static void begin_down(struct churn *churn)
{
    uint64_t count = (uint64_t)churn->plan->server_count * churn->settings->down / CHURN_MILLIONTHS;
    for (uint64_t i = 0; i < count; i++)
        server_fail(churn, any_up(churn), WARM_UP + churn->result->down_for / count * (i + 1));
}

/* ---- phases ---- */

/* Failures and returns in order, up to a moment. */
static enum err run_until(struct churn *churn, psec until, struct why *why)
{
    enum err err = OK;
    while (!err && world_now(churn->world) < until) {
        psec next = world_now(churn->world) + SLICE;
        psec back = churn->absent_count ? churn->absences[churn->first].until : PSEC_NEVER;
        next = next < until ? next : until;
        next = churn->next_failure < next ? churn->next_failure : next;
        next = back < next ? back : next;
        world_run(churn->world, next);
        if (next >= until)
            break; /* what is due then comes with the next portion */
        if (next == back)
            err = server_return(churn, why);
        else if (next == churn->next_failure)
            fail_next(churn);
        if (world_now(churn->world) > churn->begin)
            observer_tell(&churn->settings->observer, "simulated milliseconds",
                          (world_now(churn->world) - churn->begin) / (PSEC_PER_SECOND / 1000),
                          (churn->end - churn->begin) / (PSEC_PER_SECOND / 1000));
    }
    return err;
}

static enum err phases_run(struct churn *churn, struct why *why)
{
    uint32_t count = churn->plan->server_count;
    churn->next_failure = PSEC_NEVER;
    begin_down(churn);
    churn->begin = churn->end = WARM_UP;
    enum err err = run_until(churn, churn->begin, why);
    if (err)
        return err;
    churn->end = churn->begin + churn->settings->length;
    churn->counting = true;
    churn->next_failure = churn->begin;
    next_failure_draw(churn);
    for (node_id server = 0; server < count; server++)
        load_set(churn, server);
    err = run_until(churn, churn->end, why);
    churn->counting = false;
    for (node_id server = 0; server < count; server++)
        load_set(churn, server);
    churn->next_failure = PSEC_NEVER;
    return err ? err : run_until(churn, churn->end + DRAIN, why);
}

static void result_fill(struct churn *churn)
{
    struct churn_result *result = churn->result;
    struct world_counts counts;
    (void)world_stop(churn->world); /* what waits is dropped, and counted */
    world_count(churn->world, &counts);
    result->events = counts.events;
    result->all_hops = counts.hops;
    result->simulated = churn->settings->length;
    uint64_t ended = result->delivered + result->lost;
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        ended += result->dropped[reason];
    result->unaccounted = result->sent - ended;
    result->hash = hash_mix(world_hash(churn->world) ^ hash_mix(result->sent) ^
                            hash_mix(result->delivered << 20) ^ result->lost << 40);
}

/* ---- beginning and end ---- */

static enum err parts_open(struct churn *churn, struct why *why)
{
    static const struct weft_service *const services[] = {&load_service, NULL};
    const struct churn_settings *settings = churn->settings;
    const struct plan *plan = churn->plan;
    struct world_watcher *watchers[] = {&churn->watcher, NULL};
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = plan;
    world.seed = settings->seed;
    world.settled = true;
    world.node.services = services;
    world.node.hello_nsec = settings->hello_nsec;
    world.node.silence_nsec = settings->silence_nsec;
    world.node.faults = settings->plants;
    world.watchers = watchers;
    churn->absences = calloc(plan->server_count, sizeof *churn->absences);
    churn->settled = calloc((plan->server_count + 63) / 64, sizeof *churn->settled);
    if (!churn->absences || !churn->settled)
        return why_memory(why);
    enum err err = checker_oracle_init(&churn->oracle, plan, why);
    if (err)
        return err;
    churn->oracle.port = oracle_port;
    churn->oracle.settled = oracle_settled;
    churn->oracle.context = churn;
    err = world_open(&churn->world, &world, why);
    if (!err)
        err = phases_run(churn, why);
    if (churn->world)
        churn->result->memory_peak =
            world_memory(churn->world) + slab_memory_peak(world_pool(churn->world));
    return err;
}

enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                   struct why *why)
{
    assert(settings->rate > 0 && settings->down < CHURN_MILLIONTHS && settings->length > 0);
    *result = (struct churn_result){0};
    struct churn churn = {
        .settings = settings,
        .plan = settings->plan,
        .result = result,
        .watcher = {.name = "churn", .ops = &watcher_ops},
        .rng = rng_make(settings->seed, STREAM_CHURN),
    };
    /* Failures per second times this is the share of the servers. */
    result->down_for = (psec)((uint128)2 * PSEC_PER_SECOND * settings->plan->server_count *
                              settings->down / settings->rate);
    enum err err = parts_open(&churn, why);
    if (churn.world) {
        result_fill(&churn);
        world_close(churn.world);
    }
    checker_oracle_fini(&churn.oracle);
    free(churn.absences);
    free(churn.settled);
    return err;
}
