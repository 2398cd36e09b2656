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
#define LATENESS      200000  /* millionths of the frames of a link with late frames */
#define CLIENT        1       /* the local program that asks for keys */

#ifdef WEFT_PLANTED_BUGS
#define PLANT(bug, name, checker, text) {name, PLANTED_BIT(bug), checker, text},
const struct chaos_plant chaos_plants[CHAOS_PLANT_COUNT] = {PLANTED_LIST(PLANT)};
#endif

/* The current faults of a link; faults of one kind add up. */
struct sim_link_state {
    uint32_t loss, corruption, duplication;
    uint32_t dead; /* number of reasons */
    psec jitter;
    psec late;
    uint32_t lates; /* number of faults in `late` */
};

/* The current faults of a server. */
struct server_state {
    uint32_t down, paused, hung; /* number of reasons */
    bool stopped;                /* this incarnation is paused ... */
    env_nsec stopped_at;         /* ... since then, by its clock */
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
    psec sampled_at;
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
    struct chaos *chaos = chaos_of(watcher);
    if (up) {
        CHECKERS_TELL(&chaos->checkers, up, at, port);
    } else {
        CHECKERS_TELL(&chaos->checkers, down, at);
        CHECKERS_TELL(&chaos->checkers, fell, at, port);
    }
}

static void saw_heard(struct world_watcher *watcher, node_id at, unsigned port)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, heard, at, port);
}

static void saw_received(struct world_watcher *watcher, node_id at, unsigned port,
                         const struct packet *packet)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, received, at, port, packet);
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
    struct chaos *chaos = chaos_of(watcher);
    chaos->servers[at].stopped = false;
    CHECKERS_TELL(&chaos->checkers, started, at);
    CHECKERS_TELL(&chaos->checkers, down, at);
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
    .heard = saw_heard,
    .received = saw_received,
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

/* Called for servers that start, too, before world_open has returned. */
static env_nsec view_clock(void *context, node_id server)
{
    return world_clock_of(((struct chaos *)context)->watcher.world, server);
}

struct load_stats {
    struct checker_observed observed;
    bool found;
};

static void load_stat(void *context, const char *service, const char *name, uint64_t value)
{
    struct load_stats *stats = context;
    struct checker_observed *observed = &stats->observed;
    if (strcmp(service, chaos_load_service.name) != 0)
        return;
    stats->found = true;
    if (!strcmp(name, "peers"))
        observed->peers = value;
    else if (!strcmp(name, "peers_repeated"))
        observed->peers_repeated = value;
    else if (!strcmp(name, "passes_wrong"))
        observed->passes_wrong = value;
    else if (!strcmp(name, "misdelivered"))
        observed->misdelivered = value;
    else if (!strcmp(name, "timers_early"))
        observed->timers_early = value;
    else if (!strcmp(name, "timer_overdue"))
        observed->timer_overdue = value;
}

static bool view_observed(void *context, node_id server, struct checker_observed *observed)
{
    struct load_stats stats = {0};
    struct node *node = view_node(context, server);
    if (node)
        node_stats(node, load_stat, &stats);
    *observed = stats.observed;
    return stats.found;
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

/* A local program asks for keys. A paused server gets the question when it goes on. */
static void ask(struct chaos *chaos, node_id server)
{
    const struct chaos_load_question asked = {.keys = 2};
    (void)world_request(chaos->world, server, CHAOS_LOAD, CLIENT, &asked, sizeof asked);
}

static void on_answer(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct chaos *chaos = context;
    struct key key;
    if (client != CLIENT || size != sizeof key)
        return;
    memcpy(&key, bytes, sizeof key);
    CHECKERS_TELL(&chaos->checkers, answered, at, key_route(&key));
}

static void pause_apply(struct chaos *chaos, node_id server, bool paused)
{
    struct server_state *state = &chaos->servers[server];
    if (paused && !state->stopped && world_node(chaos->world, server)) {
        state->stopped = true;
        state->stopped_at = world_clock_of(chaos->world, server);
    } else if (!paused && state->stopped) {
        state->stopped = false;
        CHECKERS_TELL(&chaos->checkers, returned, server, state->stopped_at,
                      world_clock_of(chaos->world, server));
    }
    world_pause(chaos->world, server, paused);
}

static void jump_apply(struct chaos *chaos, node_id server, env_nsec ahead)
{
    env_nsec now = world_clock_of(chaos->world, server);
    if (!chaos->servers[server].stopped)
        CHECKERS_TELL(&chaos->checkers, returned, server, now, now + ahead);
    world_jump(chaos->world, server, ahead);
}

static void server_fault(struct chaos *chaos, const struct fault *fault)
{
    struct server_state *state = &chaos->servers[fault->server];
    if (fault->kind == FAULT_CLOCK) {
        world_clock(chaos->world, fault->server, fault->begins ? (uint32_t)fault->amount : 1000000);
        return;
    }
    if (fault->kind == FAULT_JUMP) {
        if (fault->begins)
            jump_apply(chaos, fault->server, (env_nsec)(fault->amount / PSEC_PER_NSEC));
        return;
    }
    if (fault->kind == FAULT_HANG) {
        state->hung += fault->begins ? 1u : -1u;
        world_fill(chaos->world, fault->server, state->hung != 0);
    }
    if (fault->kind == FAULT_PAUSE || fault->kind == FAULT_HANG || fault->kind == FAULT_SLOW) {
        state->paused += fault->begins ? 1u : -1u;
        pause_apply(chaos, fault->server, state->paused != 0);
        return;
    }
    state->down += fault->begins ? 1u : -1u;
    if (!state->down)
        server_start(chaos, fault->server);
    else if (world_node(chaos->world, fault->server))
        world_crash(chaos->world, fault->server);
    if (fault->kind == FAULT_REWIND && fault->begins)
        world_rewind(chaos->world, fault->server, fault->amount);
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
        .late = state->late,
        .lateness = state->lates ? LATENESS : 0,
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
    else if (fault->kind == FAULT_LATE) {
        state->lates += fault->begins ? 1u : -1u;
        state->late = fault->begins ? fault->amount : state->late;
    } else
        state->dead += fault->begins ? 1u : -1u;
    link_apply(chaos, fault->server, fault->port);
}

/* Faults of the server at one end of a link. */
static void end_fault(struct chaos *chaos, const struct fault *fault)
{
    if (!world_node(chaos->world, fault->server))
        return;
    if (fault->kind == FAULT_CUT) {
        CHECKERS_TELL(&chaos->checkers, cut, fault->server, fault->port, fault->begins);
        world_cut(chaos->world, fault->server, fault->port, fault->begins);
    } else {
        CHECKERS_TELL(&chaos->checkers, carrier, fault->server, fault->port, !fault->begins);
        world_carrier(chaos->world, fault->server, fault->port, !fault->begins);
    }
}

static void fault_apply(struct chaos *chaos, const struct fault *fault)
{
    chaos->result->faults += fault->begins;
    if (fault_is_of_server(fault->kind))
        server_fault(chaos, fault);
    else if (fault->kind == FAULT_CUT || fault->kind == FAULT_CARRIER ||
             (fault->kind == FAULT_LATE && !fault->amount))
        end_fault(chaos, fault);
    else
        link_fault(chaos, fault);
    /* Not always: a request makes its server look at the time before its next step does. */
    if (fault->number % 2)
        ask(chaos, fault->server);
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
        if (world_now(chaos->world) >= chaos->sampled_at) {
            CHECKERS_TELL(&chaos->checkers, sampled, chaos->sampled_at);
            chaos->sampled_at = world_now(chaos->world) + MSEC;
        }
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
    world.answer = on_answer;
    world.context = chaos;
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
        .clock = view_clock,
        .silence = world.node.silence_nsec,
        .observed = view_observed,
        .context = chaos,
    };
    enum err err = services_list(chaos, why);
    chaos->disk = world.disk =
        chaos_disk_draw(chaos->settings->seed, chaos->services, chaos->settings->kinds != 0);
    if (!err)
        err = fault_schedule_make(&chaos->schedule, plan, chaos->settings->seed,
                                  &chaos->fault_settings, why);
    view.damages = chaos->schedule.kinds >> FAULT_CORRUPTION & 1;
    view.rewinds = chaos->schedule.kinds >> FAULT_REWIND & 1;
    if (!err)
        err = checkers_open(&chaos->checkers, &view, chaos->guests ? chaos->guests->checkers : NULL,
                            why);
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
