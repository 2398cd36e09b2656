#include "sim/store/store_siege.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "sim/world/world.h"

#define STREAM  0x51e6e
#define MICRO   (PSEC_PER_SECOND / 1000000)
#define MILLI   (PSEC_PER_SECOND / 1000)
#define STEP    (5 * MILLI)
#define LENGTH  (20 * PSEC_PER_SECOND)
#define CALM    (5 * PSEC_PER_SECOND) /* after which all servers reach each other */
#define OUTAGES 12                    /* one of so many strikes is an outage */

/* If disks lag: */
#define LATE     20000                 /* of a million reads, so many ... */
#define LATENESS (4 * PSEC_PER_SECOND) /* ... are late by up to so much */
#define RARER    4                     /* so much longer is the time between two strikes */

struct state {
    psec down_until, paused_until, cut_until; /* 0: not so */
};

#define FRAIL_FROM (3 * PSEC_PER_SECOND) /* the store was founded before */

struct siege {
    const struct store_siege *settings;
    struct store_siege_result *result;
    struct world *world;
    struct weft_simulation *simulation;
    struct rng rng;
    uint32_t count;
    struct state states[STORE_SIEGE_SERVERS];
    struct disk_settings disk; /* of all servers */
    node_id frail;             /* whose disk is frail; NODE_NONE: none */
    psec frail_until;          /* 0: it works */
};

static uint64_t below(struct siege *siege, uint64_t bound)
{
    return rng_below(&siege->rng, bound);
}

static psec now(const struct siege *siege)
{
    return world_now(siege->world);
}

static int answered(void *context, node_id at, const struct env_answer *to, const void *bytes,
                    uint32_t size)
{
    const struct siege *siege = context;
    return siege->simulation ? simulation_answer(siege->simulation, to, bytes, size) : 0;
}

/* ---- what happens to a server ---- */

static void end(struct siege *siege, node_id id, psec length, bool loses_power)
{
    weft_sim_record(siege->simulation, "server %u %s for %u ms", id,
                    loses_power ? "crashes" : "is killed", (unsigned)(length / MILLI));
    siege->states[id].down_until = now(siege) + length;
    if (loses_power)
        world_crash(siege->world, id);
    else
        world_kill(siege->world, id);
    simulation_down(siege->simulation, id);
}

static uint64_t stat_of(const struct siege *siege, node_id id, const char *name)
{
    uint64_t value = 0;
    const char *service = siege->settings->services[0]->name;
    (void)!weft_sim_stat(siege->simulation, id, service, name, &value);
    return value;
}

/* Are all servers in one view, in which all groups have all their copies? */
static bool is_whole(const struct siege *siege)
{
    uint64_t led = 0, missing = 0, view = stat_of(siege, 0, "view");
    for (node_id id = 0; id < siege->count; id++) {
        if (siege->states[id].down_until || stat_of(siege, id, "view") != view)
            return false;
        led += stat_of(siege, id, "groups_led");
        missing += stat_of(siege, id, "copies_missing");
    }
    return led == siege->settings->group_count && missing == 0;
}

static void crash(struct siege *siege, node_id id, psec length)
{
    if (!siege->settings->in_memory || is_whole(siege))
        end(siege, id, length, below(siege, 2));
}

static void start(struct siege *siege, node_id id)
{
    siege->states[id].down_until = 0;
    enum err err = world_restart(siege->world, id, NULL);
    assert(err == OK);
    simulation_up(siege->simulation, id, false);
}

static psec length_draw(struct siege *siege);

/* The power fails: all servers, or some of them, crash at the same moment. */
static void outage(struct siege *siege)
{
    bool all = below(siege, 2);
    for (node_id id = 0; id < siege->count; id++)
        if (!siege->states[id].down_until && (all || below(siege, 2)))
            end(siege, id, length_draw(siege), true);
}

static void pause_for(struct siege *siege, node_id id, psec length)
{
    weft_sim_record(siege->simulation, "server %u stops for %u ms", id, (unsigned)(length / MILLI));
    siege->states[id].paused_until = now(siege) + length;
    world_pause(siege->world, id, true);
}

static void go_on(struct siege *siege, node_id id)
{
    siege->states[id].paused_until = 0;
    world_pause(siege->world, id, false);
}

/* A hang cannot be ended. So it is over when the storm is. */
static void hang(struct siege *siege, node_id id, psec length)
{
    psec most = LENGTH - now(siege);
    length = length < most ? length : most;
    weft_sim_record(siege->simulation, "the disk of server %u hangs for %u ms", id,
                    (unsigned)(length / MILLI));
    world_hang(siege->world, id, length);
}

/* Those that are cut off reach each other. */
static void cables_apply(struct siege *siege)
{
    const struct plan *plan = siege->settings->plan;
    for (node_id id = 0; id < siege->count; id++)
        for (unsigned port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, id, port);
            if (end->server == NODE_NONE)
                continue;
            bool dead = !siege->states[id].cut_until != !siege->states[end->server].cut_until;
            sim_link_set_faults(world_link(siege->world, id, port),
                                &(struct sim_link_faults){.dead = dead});
        }
}

static void cut_off(struct siege *siege, node_id id, psec length)
{
    uint64_t others = below(siege, 3) ? 0 : below(siege, siege->count);
    weft_sim_record(siege->simulation, "server %u and %u others are cut off for %u ms", id,
                    (unsigned)others, (unsigned)(length / MILLI));
    for (siege->states[id].cut_until = now(siege) + length; others; others--)
        siege->states[below(siege, siege->count)].cut_until = now(siege) + length;
    cables_apply(siege);
}

/* ---- the frail disk ---- */

static void frail_replace(struct siege *siege, psec length)
{
    if (!siege->states[siege->frail].down_until)
        crash(siege, siege->frail, length);
    weft_sim_record(siege->simulation, "the disk of server %u is replaced", siege->frail);
    world_erase(siege->world, siege->frail);
}

static void frail_strike(struct siege *siege, psec length)
{
    struct disk *disk = world_disk(siege->world, siege->frail);
    struct disk_settings settings = siege->disk;
    const char *what = "is full";
    bool fails_now = false;
    switch (below(siege, siege->settings->rots ? 4 : 2)) {
    case 0:
        what = "fails to sync";
        settings.fails = (uint32_t)(1000 << below(siege, 10));
        break;
    case 1:
        settings.size = disk_used(disk) + below(siege, 1 << 20);
        break;
    case 2:
        what = "damages what it keeps";
        settings.rot = (uint32_t)(1000 << below(siege, 9));
        fails_now = below(siege, 3) == 0;
        break;
    default:
        frail_replace(siege, length);
        return;
    }
    weft_sim_record(siege->simulation, "the disk of server %u %s for %u ms", siege->frail, what,
                    (unsigned)(length / MILLI));
    siege->frail_until = now(siege) + length;
    disk_set(disk, &settings);
    if (fails_now) /* so its server reads all that it keeps */
        outage(siege);
}

static void frail_relieve(struct siege *siege)
{
    siege->frail_until = 0;
    disk_set(world_disk(siege->world, siege->frail), &siege->disk);
}

/* ---- the siege ---- */

static bool works(const struct state *state)
{
    return !state->down_until && !state->paused_until && !state->cut_until;
}

static uint32_t count_working(const struct siege *siege)
{
    uint32_t count = 0;
    for (node_id id = 0; id < siege->count; id++)
        count += works(&siege->states[id]);
    return count;
}

/* From short to longer than it takes to leave a server out: every factor of two is as likely. */
static psec length_draw(struct siege *siege)
{
    psec length = 10 * MILLI << below(siege, 9);
    return length + below(siege, length);
}

/* By up to 40 seconds. */
static void jump(struct siege *siege, node_id id)
{
    int64_t by = INT64_C(10000000) << below(siege, 12);
    by = below(siege, 2) ? by : -by;
    weft_sim_record(siege->simulation, "the wall clock of server %u jumps by %d ms", id,
                    (int)(by / 1000000));
    world_wall_jump(siege->world, id, by);
}

static void strike(struct siege *siege)
{
    node_id id = (node_id)below(siege, siege->count);
    psec length = length_draw(siege);
    if (siege->settings->jumps && below(siege, 3) == 0) {
        jump(siege, id);
        return;
    }
    bool needed = 2 * (count_working(siege) - 1) <= siege->count;
    if (siege->frail != NODE_NONE && now(siege) > FRAIL_FROM && below(siege, 3) == 0) {
        siege->result->failures++;
        frail_strike(siege, length);
        return;
    }
    if (!siege->settings->in_memory && below(siege, OUTAGES) == 0) {
        siege->result->failures++;
        outage(siege);
        return;
    }
    if (!works(&siege->states[id]) || (needed && below(siege, 8)))
        return;
    siege->result->failures++;
    switch (below(siege, 5)) {
    case 0:
    case 1:
        crash(siege, id, length);
        break;
    case 2:
        pause_for(siege, id, length);
        break;
    case 3:
        hang(siege, id, length);
        break;
    default:
        cut_off(siege, id, length);
    }
}

/* What has lasted long enough ends. */
static void relieve(struct siege *siege, psec moment)
{
    bool joined = false;
    for (node_id id = 0; id < siege->count; id++) {
        struct state *state = &siege->states[id];
        if (state->down_until && state->down_until <= moment)
            start(siege, id);
        if (state->paused_until && state->paused_until <= moment)
            go_on(siege, id);
        if (state->cut_until && state->cut_until <= moment) {
            state->cut_until = 0;
            joined = true;
        }
    }
    if (joined)
        cables_apply(siege);
    if (siege->frail_until && siege->frail_until <= moment)
        frail_relieve(siege);
}

/* No read that begins now is late. */
static void disks_relieve(struct siege *siege)
{
    siege->disk.late = 0;
    for (node_id id = 0; siege->settings->lags && id < siege->count; id++)
        disk_set(world_disk(siege->world, id), &siege->disk);
}

static bool run_for(struct siege *siege, psec length)
{
    simulation_run(siege->simulation, now(siege) + length);
    assert(!simulation_error(siege->simulation));
    return !simulation_failed(siege->simulation);
}

static void storm(struct siege *siege)
{
    psec strike_at = below(siege, 2 * PSEC_PER_SECOND);
    while (now(siege) < LENGTH && run_for(siege, STEP)) {
        relieve(siege, now(siege));
        if (now(siege) < strike_at)
            continue;
        strike(siege);
        strike_at = now(siege) + length_draw(siege) / 2 * (siege->settings->lags ? RARER : 1);
    }
    relieve(siege, PSEC_NEVER - 1);
    disks_relieve(siege);
}

static void calm(struct siege *siege)
{
    psec deadline = now(siege) + CALM;
    simulation_phase(siege->simulation, WEFT_SIM_CALM);
    while (!world_is_whole(siege->world) && run_for(siege, STEP))
        if (now(siege) > deadline)
            weft_sim_fail(siege->simulation, "the servers do not reach each other");
}

static void world_make(struct siege *siege)
{
    const struct store_siege *settings = siege->settings;
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = settings->plan;
    world.node.services = settings->services;
    world.node.configuration = settings->configuration;
    world.seed = settings->seed;
    world.settled = below(siege, 2);
    world.answered = answered;
    world.context = siege;
    siege->disk = (struct disk_settings){
        .size = 64 << 20,
        .delay = (1 + below(siege, 100)) * MICRO,
        .jitter = below(siege, 5000) * MICRO,
    };
    bool loses = below(siege, 2), tears = below(siege, 2);
    siege->disk.lost = (uint32_t)(loses ? DISK_PARTS : below(siege, 500000));
    siege->disk.torn = (uint32_t)(tears ? DISK_PARTS : below(siege, 500000));
    if (loses && tears)
        siege->disk.lost = 0;
    if (settings->lags) { /* otherwise they are fast */
        siege->disk.jitter = below(siege, 100) * MICRO;
        siege->disk.late = LATE;
        siege->disk.lateness = LATENESS;
    }
    world.disk = siege->disk;
    siege->frail = settings->frail ? (node_id)below(siege, siege->count) : NODE_NONE;
    enum err err = world_open(&siege->world, &world, NULL);
    assert(err == OK);
}

static void simulation_make(struct siege *siege)
{
    const struct store_siege *settings = siege->settings;
    const struct simulation_settings simulation = {
        .checker = settings->checker,
        .world = siege->world,
        .services = settings->services,
        .seed = settings->seed,
        .phase = WEFT_SIM_STORM,
        .record = settings->record,
    };
    enum err err = simulation_open(&siege->simulation, &simulation, NULL);
    assert(err == OK);
    err = simulation_start(siege->simulation, NULL);
    assert(err == OK);
}

struct store_siege_result store_siege_run(const struct store_siege *settings)
{
    struct store_siege_result result = {0};
    struct siege siege = {
        .settings = settings,
        .result = &result,
        .count = settings->plan->server_count,
        .rng = rng_make(settings->seed, STREAM),
    };
    assert(siege.count <= STORE_SIEGE_SERVERS);
    world_make(&siege);
    simulation_make(&siege);
    storm(&siege);
    calm(&siege);
    simulation_phase(siege.simulation, WEFT_SIM_STEADY);
    (void)run_for(&siege, (psec)settings->checker->steady_nsec * PSEC_PER_NSEC);
    simulation_finish(siege.simulation);
    const struct simulation_failure *failure = simulation_failed(siege.simulation);
    result.failed = failure != NULL;
    if (failure)
        result.failure = *failure;
    result.hash = world_hash(siege.world);
    result.simulated = world_now(siege.world);
    simulation_close(siege.simulation);
    siege.simulation = NULL; /* servers that are stopped may still answer */
    world_close(siege.world);
    return result;
}
