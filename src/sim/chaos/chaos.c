#include "sim/chaos/chaos.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "sim/chaos/chaos_impl.h"

#define MSEC (PSEC_PER_SECOND / 1000)

enum {
    STREAM_CHAOS = 0xca05, /* draws of this file */
    STORM_PRESSES = 4,
};

#define STORM_MSEC     600
#define POLL_MSEC      5   /* between two checks whether all servers are back */
#define GRACE_MSEC     100 /* for packets that were in flight before all servers were back */
#define STEADY_MSEC    60
#define PRESS_MSEC     20
#define PRESS_FROM     2 /* milliseconds until all three services send */
#define PRESS_TO       19
#define QUIET_MSEC     200
#define CHECKER_STEADY 300000000 /* nanoseconds of the steady phase, if there is a checker */

#ifdef WEFT_PLANTED_BUGS
#define PLANT(bug, name, checker, text) {name, PLANTED_BIT(bug), checker, text},
const struct chaos_plant chaos_plants[CHAOS_PLANT_COUNT] = {PLANTED_LIST(PLANT)};
#endif

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

/* A failure that a checker from outside found is that of a checker. */
static void failure_take(struct chaos *chaos)
{
    const struct simulation_failure *failure = simulation_failed(chaos->simulation);
    struct checkers *checkers = &chaos->checkers;
    if (simulation_error(chaos->simulation))
        chaos->failed = why_memory(&chaos->why) != OK;
    if (!failure || checkers->failures)
        return;
    checkers->failures = 1;
    checkers->failed = chaos->guests->checker->name;
    checkers->failed_at = failure->at;
    static_assert(sizeof failure->text == sizeof checkers->text, "no text is cut");
    memcpy(checkers->text, failure->text, sizeof checkers->text);
}

static void world_advance(struct chaos *chaos, psec until)
{
    if (!chaos->simulation) {
        world_run(chaos->world, until);
        return;
    }
    simulation_run(chaos->simulation, until);
    failure_take(chaos);
}

static void phase_tell(struct chaos *chaos, enum weft_sim_phase phase)
{
    if (chaos->simulation)
        simulation_phase(chaos->simulation, phase);
}

/* Runs in short portions, because a bug may send forever. */
static void run_until(struct chaos *chaos, psec until)
{
    while (world_now(chaos->world) < until && !chaos_has_failed(chaos)) {
        psec next = world_now(chaos->world) + MSEC / 4;
        world_advance(chaos, next < until ? next : until);
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
        if (chaos_has_failed(chaos))
            return;
        chaos_fault_apply(chaos, fault);
    }
    run_until(chaos, storm->end);
}

static void calm_run(struct chaos *chaos)
{
    checkers_phase(&chaos->checkers, PHASE_CALM);
    phase_tell(chaos, WEFT_SIM_CALM);
    psec begin = world_now(chaos->world), deadline = begin + CHAOS_CALM;
    struct why why = {""};
    while (!chaos_has_failed(chaos)) {
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
    phase_tell(chaos, WEFT_SIM_STEADY);
    psec begin = world_now(chaos->world);
    run_for(chaos, STEADY_MSEC);
    struct checker_press pressed;
    if (press(chaos, &pressed)) {
        run_for(chaos, PRESS_FROM);
        CHECKERS_TELL(&chaos->checkers, pressed, &pressed);
        run_for(chaos, PRESS_TO - PRESS_FROM);
        CHECKERS_TELL(&chaos->checkers, released, &pressed);
    }
    if (!chaos->simulation)
        return;
    int64_t wanted = chaos->guests->checker->steady_nsec;
    run_until(chaos, begin + (psec)(wanted ? wanted : CHECKER_STEADY) * PSEC_PER_NSEC);
    simulation_finish(chaos->simulation);
    failure_take(chaos);
}

static void end_run(struct chaos *chaos)
{
    for (node_id server = 0; server < chaos->plan->server_count; server++)
        chaos_load_set(chaos, server, 0);
    run_for(chaos, QUIET_MSEC);
    checkers_phase(&chaos->checkers, PHASE_QUIET);
    world_check(chaos->world);
    checkers_phase(&chaos->checkers, PHASE_STOP);
    (void)world_stop(chaos->world);
    if (!chaos_has_failed(chaos))
        checkers_phase(&chaos->checkers, PHASE_OVER);
}

static void phases_run(struct chaos *chaos)
{
    for (node_id server = 0; server < chaos->plan->server_count; server++)
        chaos_load_set(chaos, server, CHAOS_LOAD_INTERVAL);
    storm_run(chaos);
    if (!chaos_has_failed(chaos))
        calm_run(chaos);
    if (!chaos_has_failed(chaos))
        steady_run(chaos);
    if (!chaos_has_failed(chaos))
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

static enum err simulation_begin(struct chaos *chaos, struct why *why)
{
    const struct simulation_settings settings = {
        .checker = chaos->guests->checker,
        .world = chaos->world,
        .services = chaos->services,
        .seed = chaos->settings->seed,
        .phase = WEFT_SIM_STORM,
        .record = chaos->guests->record,
    };
    enum err err = simulation_open(&chaos->simulation, &settings, why);
    return err ? err : simulation_start(chaos->simulation, why);
}

static enum err parts_open(struct chaos *chaos, struct why *why)
{
    const struct plan *plan = chaos->plan;
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = plan;
    world.seed = chaos->settings->seed;
    world.node.services = chaos->services;
    world.node.faults = chaos->settings->plants;
    world.node.configuration = chaos->guests ? chaos->guests->configuration : NULL;
    chaos->watchers[0] = &chaos->watcher;
    world.watchers = chaos->watchers;
    world.answered = chaos_answered;
    world.context = chaos;
    if (chaos->guests && chaos->guests->record)
        world.reached = &chaos->guests->record->reached;
    settings_draw(chaos, &world);
    chaos->links = calloc((size_t)plan->server_count * plan->port_count, sizeof *chaos->links);
    chaos->servers = calloc(plan->server_count, sizeof *chaos->servers);
    if (!chaos->links || !chaos->servers)
        return why_memory(why);
    struct checker_view view = chaos_view(chaos);
    view.silence = world.node.silence_nsec;
    enum err err = services_list(chaos, why);
    chaos->disk = world.disk = chaos_disk_draw(chaos->settings->seed, chaos->services);
    chaos->fault_settings.disks = world.disk.size != 0;
    if (!err)
        err = fault_schedule_make(&chaos->schedule, plan, chaos->settings->seed,
                                  &chaos->fault_settings, why);
    view.damages = chaos->schedule.kinds >> FAULT_CORRUPTION & 1;
    view.rewinds = chaos->schedule.kinds >> FAULT_REWIND & 1;
    if (!err)
        err = checkers_open(&chaos->checkers, &view, chaos->guests ? chaos->guests->checkers : NULL,
                            why);
    if (!err)
        err = world_open(&chaos->world, &world, why);
    return err || !chaos->guests || !chaos->guests->checker ? err : simulation_begin(chaos, why);
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
        .watcher = {.name = "chaos", .ops = &chaos_watcher_ops},
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
    if (chaos.simulation)
        simulation_finish(chaos.simulation);
    if (chaos.world) {
        result_fill(&chaos);
        checkers_phase(&chaos.checkers, PHASE_STOP);
        (void)world_stop(chaos.world);
        world_close(chaos.world);
    }
    simulation_close(chaos.simulation);
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
