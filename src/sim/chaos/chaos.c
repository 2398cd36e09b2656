#include "sim/chaos/chaos.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"
#include "sim/chaos/chaos_disk.h"
#include "sim/chaos/chaos_load.h"
#include "sim/world/world.h"

#define MSEC (PSEC_PER_SECOND / 1000)

enum {
    STREAM_CHAOS = 0xca05, /* draws of this file */
    STORM_PRESSES = 4,
};

#define STORM_MSEC    600
#define POLL_MSEC     5   /* between two checks whether all servers are back */
#define GRACE_MSEC    100 /* for packets that were in flight before all servers were back */
#define STEADY_MSEC   60
#define PRESS_MSEC    20
#define PRESS_FROM    2 /* milliseconds until all three services send */
#define PRESS_TO      19
#define QUIET_MSEC    200
#define LOAD_INTERVAL 5000000 /* nanoseconds */

#ifdef WEFT_PLANTED_BUGS
const struct chaos_plant chaos_plants[CHAOS_PLANT_COUNT] = {
    {"roots", NODE_FAULT_ROOTS_OVERLAP, "roots", "a restarted server answers for its keys at once"},
    {"stale", NODE_FAULT_STALE_FLOOD, "routes", "a stale row is accepted and flooded on"},
    {"port", NODE_FAULT_DEAD_PORT, "routes", "waiting packets keep a port that went down"},
    {"leak", NODE_FAULT_LEAK, "leaks", "an intercepted packet is never released"},
    {"unfair", NODE_FAULT_UNFAIR, "fair", "the round sometimes skips a service"},
};
#endif

/* The current faults of a link; faults of one kind add up. */
struct sim_link_state {
    uint32_t loss, corruption, duplication;
    uint32_t dead; /* number of reasons */
    psec jitter;
};

/* The current faults of a server. */
struct server_state {
    uint32_t down, paused, hung; /* number of reasons */
};

/* The order of a server's services: load, press, then guests. */
#define GUESTS_FIRST (1 + CHAOS_PRESS_COUNT)
#define SERVICES_MAX (GUESTS_FIRST + CHAOS_GUESTS_MAX)

struct chaos {
    const struct chaos_settings *settings;
    const struct chaos_guests *guests;                     /* NULL: none */
    const struct weft_service *services[SERVICES_MAX + 1]; /* ends with NULL */
    const struct plan *plan;
    struct chaos_result *result;
    struct world_watcher watcher;
    struct world_watcher *watchers[2]; /* the watcher, and NULL */
    struct world *world;
    struct checkers checkers;
    struct fault_schedule schedule;
    struct fault_settings fault_settings;
    struct disk_settings disk; /* of each server, in the storm */
    struct sim_link_state *links;
    struct server_state *servers;
    struct rng rng;
    psec began;
    bool failed; /* the run itself */
    struct why why;
};

/* ---- events for the checkers ---- */

static struct chaos *chaos_of(struct world_watcher *watcher)
{
    return container_of(watcher, struct chaos, watcher);
}

static void saw_sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->sent++;
    CHECKERS_TELL(&chaos->checkers, sent, at, packet);
}

static void saw_delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->delivered++;
    CHECKERS_TELL(&chaos->checkers, delivered, at, packet);
}

static void saw_taken(struct world_watcher *watcher, node_id at, uint64_t trail)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->taken++;
    CHECKERS_TELL(&chaos->checkers, taken, at, trail);
}

static void saw_dropped(struct world_watcher *watcher, node_id at, const struct packet *packet,
                        enum drop_reason reason)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->dropped[reason]++;
    CHECKERS_TELL(&chaos->checkers, dropped, at, packet, reason);
}

static void saw_port(struct world_watcher *watcher, node_id at, unsigned port, bool up)
{
    if (up)
        CHECKERS_TELL(&chaos_of(watcher)->checkers, up, at, port);
    else
        CHECKERS_TELL(&chaos_of(watcher)->checkers, down, at);
}

static void saw_transmitted(struct world_watcher *watcher, node_id at, unsigned port,
                            const struct packet *packet)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, transmitted, at, port, packet);
}

static void saw_row(struct world_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                    uint64_t version)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, row, at, server, incarnation, version);
}

static void saw_copied(struct world_watcher *watcher, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->copied++;
    CHECKERS_TELL(&chaos->checkers, copied, packet);
}

static void saw_lost(struct world_watcher *watcher, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->lost++;
    CHECKERS_TELL(&chaos->checkers, lost, packet);
}

static void saw_opened(struct world_watcher *watcher, node_id at, uint64_t incarnation)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, started, at);
    CHECKERS_TELL(&chaos_of(watcher)->checkers, down, at);
}

static void saw_closed(struct world_watcher *watcher, node_id at)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, down, at);
}

static const struct world_watcher_ops watcher_ops = {
    .sent = saw_sent,
    .delivered = saw_delivered,
    .taken = saw_taken,
    .dropped = saw_dropped,
    .port = saw_port,
    .transmitted = saw_transmitted,
    .row = saw_row,
    .copied = saw_copied,
    .lost = saw_lost,
    .opened = saw_opened,
    .closed = saw_closed,
};

/* ---- the checkers' view ---- */

static psec view_now(void *context)
{
    return world_now(((struct chaos *)context)->world);
}

static struct node *view_node(void *context, node_id server)
{
    return world_node(((struct chaos *)context)->world, server);
}

static enum port_state view_port(void *context, node_id server, unsigned port)
{
    const struct node *node = view_node(context, server);
    if (!node)
        return PORT_DOWN;
    struct port_snapshot snapshot;
    node_snapshot_port(node, port, &snapshot);
    return snapshot.state;
}

static bool view_settled(void *context, node_id server)
{
    const struct node *node = view_node(context, server);
    struct node_snapshot snapshot;
    if (!node)
        return false;
    node_snapshot(node, &snapshot);
    return snapshot.settled;
}

static bool view_counts_on(void *context, node_id server, node_id other)
{
    const struct node *node = view_node(context, server);
    return node && node_counts_on(node, other);
}

static uint64_t view_live(void *context)
{
    return slab_packets(world_pool(((struct chaos *)context)->world))->live;
}

/* ---- faults ---- */

static bool has_failed(const struct chaos *chaos)
{
    return chaos->failed || chaos->checkers.failures;
}

/* Sends the order to guests, too; a guest without request() ignores it. */
static void load_set(struct chaos *chaos, node_id server, int64_t interval)
{
    struct chaos_load_order order = {interval};
    (void)world_request(chaos->world, server, CHAOS_LOAD, 0, &order, sizeof order);
    for (unsigned i = GUESTS_FIRST; chaos->services[i]; i++)
        (void)world_request(chaos->world, server, chaos->services[i]->id, 0, &order, sizeof order);
}

static void server_start(struct chaos *chaos, node_id server)
{
    if (world_node(chaos->world, server))
        return;
    if (world_restart(chaos->world, server, &chaos->why))
        chaos->failed = true;
    else
        load_set(chaos, server, LOAD_INTERVAL);
}

static void server_fault(struct chaos *chaos, const struct fault *fault)
{
    struct server_state *state = &chaos->servers[fault->server];
    if (fault->kind == FAULT_CLOCK) {
        world_clock(chaos->world, fault->server, fault->begins ? (uint32_t)fault->amount : 1000000);
        return;
    }
    if (fault->kind == FAULT_HANG) {
        state->hung += fault->begins ? 1u : -1u;
        world_fill(chaos->world, fault->server, state->hung != 0);
    }
    if (fault->kind == FAULT_PAUSE || fault->kind == FAULT_HANG) {
        state->paused += fault->begins ? 1u : -1u;
        world_pause(chaos->world, fault->server, state->paused != 0);
        return;
    }
    state->down += fault->begins ? 1u : -1u;
    if (!state->down)
        server_start(chaos, fault->server);
    else if (world_node(chaos->world, fault->server))
        world_crash(chaos->world, fault->server);
}

static uint32_t chance(uint32_t sum)
{
    return sum < SIM_LINK_PARTS * 9 / 10 ? sum : SIM_LINK_PARTS * 9 / 10;
}

static void link_apply(struct chaos *chaos, node_id server, unsigned port)
{
    const struct sim_link_state *state = &chaos->links[server * chaos->plan->port_count + port];
    struct sim_link_faults faults = {
        .loss = chance(state->loss),
        .corruption = chance(state->corruption),
        .duplication = chance(state->duplication),
        .jitter = state->jitter,
        .reorder = state->jitter % 2,
        .dead = state->dead != 0,
    };
    sim_link_set_faults(world_link(chaos->world, server, port), &faults);
}

static void link_fault(struct chaos *chaos, const struct fault *fault)
{
    struct sim_link_state *state =
        &chaos->links[fault->server * chaos->plan->port_count + fault->port];
    uint32_t amount = fault->begins ? (uint32_t)fault->amount : -(uint32_t)fault->amount;
    if (fault->kind == FAULT_LOSS)
        state->loss += amount;
    else if (fault->kind == FAULT_CORRUPTION)
        state->corruption += amount;
    else if (fault->kind == FAULT_DUPLICATION)
        state->duplication += amount;
    else if (fault->kind == FAULT_JITTER)
        state->jitter += fault->begins ? fault->amount : -fault->amount;
    else
        state->dead += fault->begins ? 1u : -1u;
    link_apply(chaos, fault->server, fault->port);
}

static void fault_apply(struct chaos *chaos, const struct fault *fault)
{
    chaos->result->faults += fault->begins;
    if (fault->kind >= FAULT_CRASH)
        server_fault(chaos, fault);
    else if (fault->kind == FAULT_CUT)
        world_cut(chaos->world, fault->server, fault->port, fault->begins);
    else
        link_fault(chaos, fault);
}

/* ---- saturating a port ---- */

/* Finds the port itself, or the next port of that server that has a cable; false: it has none. */
static bool cable_find(const struct plan *plan, node_id server, unsigned *port)
{
    for (unsigned i = 0; i < plan->port_count; i++) {
        if (plan_end(plan, server, *port)->server != NODE_NONE)
            return true;
        *port = (*port + 1) % plan->port_count;
    }
    return false;
}

/* Three services saturate one port. False: the drawn server has no cable (a lone server has
 * none). */
static bool press(struct chaos *chaos, struct checker_press *press)
{
    const struct plan *plan = chaos->plan;
    *press = (struct checker_press){.count = CHAOS_PRESS_COUNT};
    press->server = (node_id)rng_below(&chaos->rng, plan->server_count);
    press->port = (unsigned)rng_below(&chaos->rng, plan->port_count);
    if (!cable_find(plan, press->server, &press->port))
        return false;
    for (unsigned i = 0; i < CHAOS_PRESS_COUNT; i++) {
        struct chaos_press_order order = {
            .port = press->port,
            .size = 1000 + (uint32_t)rng_below(&chaos->rng, WEFT_PAYLOAD_MAX - 1000 + 1),
            .length_nsec = PRESS_MSEC * 1000000ll,
        };
        press->services[i] = chaos_press_services[i].id;
        press->weights[i] = chaos_press_services[i].weight;
        (void)world_request(chaos->world, press->server, press->services[i], 0, &order,
                            sizeof order);
    }
    return true;
}

/* ---- phases ---- */

/* Runs in short portions, because a bug may send forever. */
static void run_until(struct chaos *chaos, psec until)
{
    while (world_now(chaos->world) < until && !has_failed(chaos)) {
        psec next = world_now(chaos->world) + MSEC / 4;
        world_run(chaos->world, next < until ? next : until);
    }
}

static void run_for(struct chaos *chaos, uint64_t milliseconds)
{
    run_until(chaos, world_now(chaos->world) + milliseconds * MSEC);
}

static void storm_run(struct chaos *chaos)
{
    const struct fault_settings *storm = &chaos->fault_settings;
    psec pace = (storm->end - storm->begin) / (STORM_PRESSES + 1);
    psec press_at = storm->begin + pace;
    for (size_t i = 0; i < chaos->schedule.count; i++) {
        const struct fault *fault = &chaos->schedule.faults[i];
        while (press_at < fault->at) {
            struct checker_press unused;
            run_until(chaos, press_at);
            (void)press(chaos, &unused);
            press_at += pace;
        }
        run_until(chaos, fault->at);
        if (has_failed(chaos))
            return;
        fault_apply(chaos, fault);
    }
    run_until(chaos, storm->end);
}

static void calm_run(struct chaos *chaos)
{
    chaos_disk_heal(chaos->world, &chaos->disk);
    checkers_phase(&chaos->checkers, PHASE_CALM);
    psec begin = world_now(chaos->world), deadline = begin + CHAOS_CALM;
    struct why why = {""};
    while (!has_failed(chaos)) {
        if (checker_routes_are_back(&chaos->checkers.view, &why)) {
            chaos->result->back = world_now(chaos->world) - begin;
            return;
        }
        if (world_now(chaos->world) >= deadline) {
            checkers_phase(&chaos->checkers, PHASE_STEADY); /* reports a server that is not back */
            return;
        }
        run_for(chaos, POLL_MSEC);
    }
}

static void steady_run(struct chaos *chaos)
{
    run_for(chaos, GRACE_MSEC);
    checkers_phase(&chaos->checkers, PHASE_STEADY);
    run_for(chaos, STEADY_MSEC);
    struct checker_press pressed;
    if (!press(chaos, &pressed))
        return;
    run_for(chaos, PRESS_FROM);
    CHECKERS_TELL(&chaos->checkers, pressed, &pressed);
    run_for(chaos, PRESS_TO - PRESS_FROM);
    CHECKERS_TELL(&chaos->checkers, released, &pressed);
}

static void end_run(struct chaos *chaos)
{
    for (node_id server = 0; server < chaos->plan->server_count; server++)
        load_set(chaos, server, 0);
    run_for(chaos, QUIET_MSEC);
    checkers_phase(&chaos->checkers, PHASE_QUIET);
    world_check(chaos->world);
    checkers_phase(&chaos->checkers, PHASE_STOP);
    (void)world_stop(chaos->world);
    if (!has_failed(chaos))
        checkers_phase(&chaos->checkers, PHASE_OVER);
}

static void phases_run(struct chaos *chaos)
{
    for (node_id server = 0; server < chaos->plan->server_count; server++)
        load_set(chaos, server, LOAD_INTERVAL);
    storm_run(chaos);
    if (!has_failed(chaos))
        calm_run(chaos);
    if (!has_failed(chaos))
        steady_run(chaos);
    if (!has_failed(chaos))
        end_run(chaos);
}

/* ---- start and end ---- */

/* Draws from the seed: the length of the cables (slow news makes more trouble), the interval of
 * hellos, the silence timeout, and whether the storm hits a cluster that has been up for long or
 * one that just starts. */
static void settings_draw(struct chaos *chaos, struct world_settings *world)
{
    static const unsigned hello_msec[] = {8, 20, 40};
    static const unsigned delay_usec[] = {1, 20, 200, 1000};
    psec hello = hello_msec[rng_below(&chaos->rng, 3)] * MSEC;
    psec silence = hello * (3 + rng_below(&chaos->rng, 3));
    world->settled = rng_below(&chaos->rng, 2) == 0;
    world->node.hello_nsec = (env_nsec)(hello / PSEC_PER_NSEC);
    world->node.silence_nsec = (env_nsec)(silence / PSEC_PER_NSEC);
    world->node.separate = rng_below(&chaos->rng, 4) == 0;
    world->link.delay = delay_usec[rng_below(&chaos->rng, 4)] * (MSEC / 1000);
    psec begin = (1 + rng_below(&chaos->rng, 100)) * MSEC;
    chaos->fault_settings = (struct fault_settings){
        .kinds = chaos->settings->kinds,
        .begin = begin,
        .end = begin + STORM_MSEC * MSEC,
        .hello = hello,
        .silence = silence,
    };
}

/* Lists the load first, then the guests. */
static enum err services_list(struct chaos *chaos, struct why *why)
{
    unsigned count = 0;
    chaos->services[count++] = &chaos_load_service;
    for (unsigned i = 0; i < CHAOS_PRESS_COUNT; i++)
        chaos->services[count++] = &chaos_press_services[i];
    const struct weft_service *const *more = chaos->guests ? chaos->guests->services : NULL;
    for (; more && *more; more++) {
        if (count == SERVICES_MAX)
            return why_fail(why, ERR_USAGE, "too many guest services: at most %d",
                            CHAOS_GUESTS_MAX);
        chaos->services[count++] = *more;
    }
    return OK;
}

static enum err parts_open(struct chaos *chaos, struct why *why)
{
    const struct plan *plan = chaos->plan;
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = plan;
    world.seed = chaos->settings->seed;
    world.node.services = chaos->services;
    world.node.faults = chaos->settings->plants;
    chaos->watchers[0] = &chaos->watcher;
    world.watchers = chaos->watchers;
    settings_draw(chaos, &world);
    chaos->links = calloc((size_t)plan->server_count * plan->port_count, sizeof *chaos->links);
    chaos->servers = calloc(plan->server_count, sizeof *chaos->servers);
    if (!chaos->links || !chaos->servers)
        return why_memory(why);
    struct checker_view view = {
        .plan = plan,
        .now = view_now,
        .node = view_node,
        .port = view_port,
        .settled = view_settled,
        .counts_on = view_counts_on,
        .live = view_live,
        .context = chaos,
    };
    enum err err = services_list(chaos, why);
    chaos->disk = world.disk =
        chaos_disk_draw(chaos->settings->seed, chaos->services, chaos->settings->kinds != 0);
    if (!err)
        err = checkers_open(&chaos->checkers, &view, chaos->guests ? chaos->guests->checkers : NULL,
                            why);
    if (!err)
        err = fault_schedule_make(&chaos->schedule, plan, chaos->settings->seed,
                                  &chaos->fault_settings, why);
    return err ? err : world_open(&chaos->world, &world, why);
}

static void result_fill(struct chaos *chaos)
{
    struct chaos_result *result = chaos->result;
    struct world_counts counts;
    world_count(chaos->world, &counts);
    result->events = counts.events;
    result->hops = counts.hops;
    result->simulated = world_now(chaos->world);
    result->kinds = chaos->schedule.kinds;
    result->checker = chaos->checkers.failed;
    result->failed_at = chaos->checkers.failed_at;
    memcpy(result->text, chaos->checkers.text, sizeof result->text);
    result->hash = hash_mix(world_hash(chaos->world) ^ hash_mix(result->sent) ^
                            hash_mix(result->delivered << 20) ^ result->lost << 40);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        result->hash = hash_mix(result->hash ^ result->dropped[reason]);
}

/* A server that is never connected never comes back, and the checkers would blame the nodes. */
static enum err plan_is_whole(const struct plan *plan, struct why *why)
{
    bool connected;
    enum err err = graph_connected(&plan->topology->graph, &connected, why);
    if (err || connected)
        return err;
    return why_fail(why, ERR_USAGE,
                    "not all servers are connected, so they could never all be back after a storm");
}

enum err chaos_run_with(const struct chaos_settings *settings, const struct chaos_guests *guests,
                        struct chaos_result *result, struct why *why)
{
    *result = (struct chaos_result){0};
    struct chaos chaos = {
        .settings = settings,
        .guests = guests,
        .plan = settings->plan,
        .result = result,
        .watcher = {.name = "chaos", .ops = &watcher_ops},
        .rng = rng_make(settings->seed, STREAM_CHAOS),
    };
    enum err err = plan_is_whole(settings->plan, why);
    if (!err)
        err = parts_open(&chaos, why);
    if (!err)
        phases_run(&chaos);
    if (!err && chaos.failed) {
        if (why)
            *why = chaos.why;
        err = ERR_MEMORY;
    }
    if (chaos.world) {
        result_fill(&chaos);
        checkers_phase(&chaos.checkers, PHASE_STOP);
        (void)world_stop(chaos.world);
        world_close(chaos.world);
    }
    checkers_close(&chaos.checkers);
    fault_schedule_fini(&chaos.schedule);
    free(chaos.links);
    free(chaos.servers);
    return err;
}

enum err chaos_run(const struct chaos_settings *settings, struct chaos_result *result,
                   struct why *why)
{
    return chaos_run_with(settings, NULL, result, why);
}

void chaos_replay_write(const char *word, const struct chaos_settings *settings,
                        const struct chaos_result *result, struct text *out)
{
    text_printf(out, "weft sim chaos %s --seed %" PRIu64 " --seeds 1 --faults ", word,
                settings->seed);
    fault_kinds_write(result->kinds, out);
#ifdef WEFT_PLANTED_BUGS
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++)
        if (settings->plants & chaos_plants[i].fault)
            text_printf(out, " --plant %s", chaos_plants[i].name);
#endif
}
