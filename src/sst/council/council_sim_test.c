/* Councils under random events: processes join, leave and die at any moment. Messages between two
 * processes take any time but keep their order, even if their sender died; with some seeds they are
 * lost. Each process learns of deaths at its own time. The seed decides every event.
 *
 * A failure prints the seed. WEFT_SEED=N runs only that seed; WEFT_SEEDS=N runs seeds 1 to N. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"
#include "sst/council/council.h"
#include "transport/clock.h"

enum {
    SEEDS = 4000,
    IDS = 8,
    PROCESSES_MAX = 40, /* started in one run */
    STORM_STEPS = 600,
    QUIET_STEPS = 60000,
    FLIGHTS_MAX = 20000,
    VIEWS_MAX = 512,
};

/* One side of a meeting. */
struct encounter {
    uint64_t nonce;  /* of the process that it meets in that row; 0: none */
    uint64_t number; /* of this attempt */
    uint64_t linked; /* the other's attempt with which this one succeeded */
    bool told;       /* council_met was called */
};

struct process {
    struct council council;
    struct world *world;
    uint64_t nonce;
    ripc_id id;
    bool alive, leaving, refused;
    bool doomed;  /* it dies in the middle of the current call */
    uint32_t row; /* once installed */
    struct view view;
    struct encounter encounters[SST_ROWS_MAX];
};

struct flight {
    uint32_t from, to;
    uint8_t *bytes;
    size_t size;
};

struct notice {
    uint32_t about, to;
};

struct world {
    uint64_t seed;
    struct rng rng;
    uint32_t rows_max;
    bool loses, fails, drop;
    bool storms; /* processes may die */
    nsec now;
    struct process *processes;
    uint32_t process_count;
    struct flight *flights; /* in the order in which they were sent */
    uint32_t flight_count;
    struct notice notices[PROCESSES_MAX * PROCESSES_MAX];
    uint32_t notice_count;
    struct view *views; /* all views that any process ever installed */
    uint32_t view_count;
    uint64_t sent, number_last;
    unsigned tables; /* founded */
};

static struct world world;

#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("WEFT_SEED=%llu: %s\n", (unsigned long long)world.seed, #condition);       \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

static bool chance(unsigned one_in)
{
    return rng_below(&world.rng, one_in) == 0;
}

static struct process *process_of(uint64_t nonce)
{
    for (uint32_t i = 0; i < world.process_count; i++)
        if (world.processes[i].nonce == nonce)
            return &world.processes[i];
    return NULL;
}

static bool process_is_member(const struct process *process)
{
    return process->alive && process->view.epoch;
}

/* ---- callbacks of a council ---- */

static void flight_add(uint32_t from, uint32_t to, const uint8_t *bytes, size_t size)
{
    demand(world.flight_count < FLIGHTS_MAX);
    struct flight *flight = &world.flights[world.flight_count++];
    *flight = (struct flight){from, to, malloc(size), size};
    memcpy(flight->bytes, bytes, size);
    world.sent++;
}

static void sim_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    struct process *process = argument;
    process->doomed |= world.storms && chance(150);
    if (process->doomed)
        return;
    for (uint32_t i = 0; i < world.process_count; i++) {
        struct process *other = &world.processes[i];
        if (other->alive && other != process && (to ? other->id == to : process_is_member(other)))
            flight_add((uint32_t)(process - world.processes), i, bytes, size);
    }
}

static void sim_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    struct process *process = argument;
    if (process->doomed)
        return;
    demand(row < world.rows_max && row != council_row(&process->council));
    demand(process->encounters[row].nonce == 0);
    demand(process_of(nonce) && process_of(nonce)->id == id);
    process->encounters[row] = (struct encounter){.nonce = nonce, .number = ++world.number_last};
}

static void sim_part(void *argument, uint32_t row, uint64_t nonce)
{
    struct process *process = argument;
    if (process->doomed)
        return;
    demand(process->encounters[row].nonce == nonce);
    process->encounters[row] = (struct encounter){0};
}

/* Checks that an epoch has one view, even if the process that installed it died. */
static void view_remember(const struct view *view)
{
    for (uint32_t i = 0; i < world.view_count; i++)
        if (world.views[i].table == view->table && world.views[i].epoch == view->epoch) {
            demand(view_equal(&world.views[i], view));
            return;
        }
    demand(world.view_count < VIEWS_MAX);
    world.views[world.view_count++] = *view;
}

static void sim_install(void *argument, const struct view *view)
{
    struct process *process = argument;
    if (process->doomed)
        return;
    demand(process->alive);
    demand(view->epoch > process->view.epoch);
    demand(view->row_count <= world.rows_max);
    demand(view->row_count && view->rows[view->row_count - 1].id);
    uint32_t row = council_row(&process->council);
    demand(row < view->row_count && view->rows[row].nonce == process->nonce);
    demand(!process->view.epoch || process->row == row);
    for (uint32_t i = 0; i < view->row_count; i++) {
        const struct view_member *member = &view->rows[i];
        if (!member->id || i == row)
            continue;
        struct encounter *encounter = &process->encounters[i];
        demand(encounter->nonce == member->nonce && encounter->told);
        /* A row is empty for one view before it gets another member. */
        demand(!process->view.rows[i].id || process->view.rows[i].nonce == member->nonce);
    }
    for (uint32_t i = 0; i < SST_ROWS_MAX; i++)
        if (i >= view->row_count || !view->rows[i].id)
            process->encounters[i] = (struct encounter){0};
    process->row = row;
    process->view = *view;
    view_remember(view);
}

static void process_end(struct process *process)
{
    process->alive = false;
    for (uint32_t i = 0; i < world.process_count; i++)
        if (world.processes[i].alive)
            world.notices[world.notice_count++] =
                (struct notice){(uint32_t)(process - world.processes), i};
}

static void sim_refused(void *argument, int status, const char *reason)
{
    struct process *process = argument;
    if (process->doomed)
        return;
    demand(status < 0 && reason[0]);
    demand(!process->view.epoch);
    process->refused = true;
    for (uint32_t i = 0; i < SST_ROWS_MAX; i++)
        demand(!process->encounters[i].nonce);
}

static void sim_left(void *argument)
{
    struct process *process = argument;
    if (process->doomed)
        return;
    demand(process->leaving);
    process_end(process);
}

/* Only processes that really died are reported dead, so no process may be expelled. */
static void sim_expelled(void *argument)
{
    demand(!"expelled");
}

static const struct council_ops sim_ops = {
    .send = sim_send,
    .meet = sim_meet,
    .part = sim_part,
    .install = sim_install,
    .refused = sim_refused,
    .left = sim_left,
    .expelled = sim_expelled,
};

/* ---- events ---- */

static bool id_is_free(ripc_id id)
{
    for (uint32_t i = 0; i < world.process_count; i++)
        if (world.processes[i].alive && world.processes[i].id == id)
            return false;
    return true;
}

static bool has_members(void)
{
    for (uint32_t i = 0; i < world.process_count; i++)
        if (process_is_member(&world.processes[i]))
            return true;
    return false;
}

static void process_start(void)
{
    ripc_id id = 1 + rng_below(&world.rng, IDS);
    if (world.process_count == PROCESSES_MAX || !id_is_free(id))
        return;
    struct process *process = &world.processes[world.process_count++];
    memset(process, 0, sizeof *process);
    process->id = id;
    process->nonce = rng_next(&world.rng) | 1;
    process->alive = true;
    struct council_config config = {
        .hash = chance(30) ? 6 : 5,
        .design = SST_WRITES,
        .rows_max = world.rows_max,
        .drop = world.drop,
        .id = id,
        .nonce = process->nonce,
    };
    if (!has_members())
        config.hash = 5;
    council_init(&process->council, &sim_ops, process, &config);
    if (world.process_count == 1)
        council_found(&process->council, rng_next(&world.rng) | 1);
    else
        council_join(&process->council);
}

static struct process *process_any(void)
{
    struct process *process = &world.processes[rng_below(&world.rng, world.process_count)];
    return process->alive ? process : NULL;
}

/* Delivers the oldest message between two random processes. */
static void flight_land(void)
{
    if (world.flight_count == 0)
        return;
    uint32_t at = (uint32_t)rng_below(&world.rng, world.flight_count);
    for (uint32_t i = 0; i < at; i++)
        if (world.flights[i].from == world.flights[at].from &&
            world.flights[i].to == world.flights[at].to)
            at = i;
    struct flight flight = world.flights[at];
    world.flight_count--;
    memmove(&world.flights[at], &world.flights[at + 1], (world.flight_count - at) * sizeof flight);
    struct process *to = &world.processes[flight.to];
    if (to->alive && !(world.loses && chance(8)))
        council_receive(&to->council, world.processes[flight.from].id, flight.bytes, flight.size);
    free(flight.bytes);
}

static void notice_give(void)
{
    if (world.notice_count == 0)
        return;
    uint32_t at = (uint32_t)rng_below(&world.rng, world.notice_count);
    struct notice notice = world.notices[at];
    world.notices[at] = world.notices[--world.notice_count];
    struct process *to = &world.processes[notice.to];
    const struct process *about = &world.processes[notice.about];
    if (to->alive)
        council_failed(&to->council, about->id, about->nonce);
}

/* Do both want to meet each other, each in the row that the other expects? */
static bool encounter_is_mutual(const struct process *process, uint32_t row, struct process **peer)
{
    *peer = process_of(process->encounters[row].nonce);
    uint32_t own = council_row(&process->council);
    return (*peer)->alive && own < SST_ROWS_MAX && council_row(&(*peer)->council) == row &&
           (*peer)->encounters[own].nonce == process->nonce;
}

/* Returns whether something happened. */
static bool encounter_hold(struct process *process, uint32_t row)
{
    struct encounter *encounter = &process->encounters[row];
    struct process *peer;
    if (!process->alive || !encounter->nonce || encounter->told)
        return false;
    bool mutual = encounter_is_mutual(process, row, &peer);
    if (!peer->alive) {
        encounter->told = true;
        council_failed(&process->council, peer->id, peer->nonce);
        return true;
    }
    if (!mutual)
        return false;
    encounter->told = true;
    if (world.fails && chance(40)) {
        council_met(&process->council, row, encounter->nonce, -ETIMEDOUT);
        return true;
    }
    struct encounter *other = &peer->encounters[council_row(&process->council)];
    encounter->linked = other->number;
    other->linked = encounter->number;
    council_met(&process->council, row, encounter->nonce, 0);
    return true;
}

static bool process_hold_encounters(struct process *process, unsigned one_in)
{
    bool happened = false;
    for (uint32_t row = 0; row < world.rows_max; row++)
        if (one_in == 1 || chance(one_in))
            happened |= encounter_hold(process, row);
    return happened;
}

/* Returns a process whose view is newer than that of some other, or NULL. */
static struct process *process_ahead(void)
{
    struct process *first = NULL;
    bool uneven = false;
    for (uint32_t i = 0; i < world.process_count; i++) {
        struct process *process = &world.processes[i];
        if (!process_is_member(process))
            continue;
        uneven |= first && first->view.epoch != process->view.epoch;
        if (!first || process->view.epoch > first->view.epoch)
            first = process;
    }
    return uneven ? first : NULL;
}

static void processes_bury(void)
{
    for (uint32_t i = 0; i < world.process_count; i++)
        if (world.processes[i].alive && world.processes[i].doomed)
            process_end(&world.processes[i]);
}

/* A refused process ends; a joining process retries. */
static void process_tick(struct process *process)
{
    if (process->refused) {
        process_end(process);
        return;
    }
    world.now += COUNCIL_RETRY_NSEC / 4;
    council_tick(&process->council, world.now);
}

static void storm_step(void)
{
    struct process *process = process_any();
    switch (rng_below(&world.rng, 40)) {
    case 0:
    case 1:
        process_start();
        break;
    case 2:
        if (chance(2))
            process = process_ahead();
        if (process && chance(2))
            process_end(process);
        break;
    case 3:
        if (process && process->view.epoch && chance(2)) {
            process->leaving = true;
            council_leave(&process->council);
        }
        break;
    case 4:
    case 5:
    case 6:
        if (process)
            process_tick(process);
        break;
    case 7:
    case 8:
    case 9:
        notice_give();
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
        if (process)
            process_hold_encounters(process, 2);
        break;
    default:
        flight_land();
    }
}

/* The table has no members left: a joining process founds it again. */
static bool table_found_again(void)
{
    if (has_members() || world.flight_count)
        return false;
    for (uint32_t i = 0; i < world.process_count; i++) {
        struct process *process = &world.processes[i];
        if (!process->alive || process->council.phase != COUNCIL_JOINING)
            continue;
        council_leave(&process->council);
        world.tables++;
        council_found(&process->council, rng_next(&world.rng) | 1);
        return true;
    }
    return false;
}

static bool is_settled(void)
{
    for (uint32_t i = 0; i < world.process_count; i++) {
        const struct process *process = &world.processes[i];
        if (process->alive &&
            (!process->view.epoch || process->leaving || process->council.prepared_is ||
             process->council.lead == LEAD_ASKS || process->council.lead == LEAD_PROPOSES))
            return false;
    }
    return true;
}

static void world_print(void)
{
    for (uint32_t i = 0; i < world.process_count; i++) {
        const struct process *process = &world.processes[i];
        const struct council *council = &process->council;
        if (process->alive)
            print_error("process %u: id %llu phase %d lead %d epoch %llu row %u prepared %d (%llu) "
                        "ready %d\n",
                        i, (unsigned long long)process->id, (int)council->phase, (int)council->lead,
                        (unsigned long long)council->installed.epoch, council_row(council),
                        council->prepared_is, (unsigned long long)council->prepared.epoch,
                        council->ready);
        for (uint32_t row = 0; process->alive && row < council->installed.row_count; row++)
            if (council->installed.rows[row].id)
                print_error(
                    "    row %u: process %u since %llu%s\n", row,
                    (uint32_t)(process_of(council->installed.rows[row].nonce) - world.processes),
                    (unsigned long long)council->installed.rows[row].since,
                    council_is_dead(council, council->installed.rows[row].nonce) ? " dead" : "");
        if (process->alive)
            print_error("    promised %llu %u %u\n", (unsigned long long)council->promised.since,
                        council->promised.row, council->promised.round);
    }
}

/* No more joins, leaves or deaths: lets everything that is pending finish. */
static void world_calm(void)
{
    for (unsigned step = 0; step < QUIET_STEPS; step++) {
        bool happened = world.flight_count || world.notice_count;
        flight_land();
        notice_give();
        for (uint32_t i = 0; i < world.process_count && step % 8 == 0; i++)
            if (world.processes[i].alive)
                happened |= process_hold_encounters(&world.processes[i], 1);
        if (happened || step % 8)
            continue;
        if (is_settled() && !table_found_again())
            return;
        table_found_again();
        for (uint32_t i = 0; i < world.process_count; i++)
            if (world.processes[i].alive)
                process_tick(&world.processes[i]);
    }
    world_print();
    demand(!"the councils come to rest");
}

static void pair_check(const struct process *one, const struct process *other)
{
    const struct encounter *there = &one->encounters[other->row];
    const struct encounter *back = &other->encounters[one->row];
    demand(there->nonce == other->nonce && back->nonce == one->nonce);
    demand(there->linked == back->number && back->linked == there->number);
}

/* Checks that all live processes have the same view of all live processes, and that all pairs have
 * met. */
static void world_check(void)
{
    const struct process *first = NULL;
    uint32_t members = 0;
    for (uint32_t i = 0; i < world.process_count; i++) {
        const struct process *process = &world.processes[i];
        if (!process_is_member(process))
            continue;
        members++;
        demand(world.tables > 1 ||
               process->council.strange ==
                   0); /* with several tables, messages of the previous one count as strange */
        first = first ? first : process;
        demand(view_equal(&first->view, &process->view));
        demand(process->view.rows[process->row].nonce == process->nonce);
        for (uint32_t j = 0; j < i; j++)
            if (process_is_member(&world.processes[j]))
                pair_check(process, &world.processes[j]);
    }
    uint32_t rows = 0;
    for (uint32_t row = 0; first && row < first->view.row_count; row++)
        rows += first->view.rows[row].id &&
                (world.drop || process_of(first->view.rows[row].nonce)->alive);
    demand(rows == members);
    uint64_t sent = world.sent; /* no further messages are sent */
    for (uint32_t i = 0; i < 3 * world.process_count; i++)
        if (process_is_member(&world.processes[i % world.process_count]))
            process_tick(&world.processes[i % world.process_count]);
    demand(world.sent == sent);
}

static void world_run(uint64_t seed)
{
    world.seed = seed;
    world.rng = rng_make(seed, 0);
    world.process_count = world.flight_count = world.notice_count = world.view_count = 0;
    world.sent = world.number_last = 0;
    world.now = 1;
    world.tables = 1;
    world.rows_max = 2 + (uint32_t)rng_below(&world.rng, IDS);
    world.loses = chance(3);
    world.fails = chance(4);
    world.drop = !chance(3);
    process_start();
    uint64_t steps = rng_below(&world.rng, chance(10) ? 5 * STORM_STEPS : STORM_STEPS);
    world.storms = true;
    for (uint64_t i = 0; i < steps; i++) {
        storm_step();
        processes_bury();
    }
    world.storms = false;
    world_calm();
    world_check();
}

static void world_open(void)
{
    world.processes = calloc(PROCESSES_MAX, sizeof *world.processes);
    world.flights = calloc(FLIGHTS_MAX, sizeof *world.flights);
    world.views = calloc(VIEWS_MAX, sizeof *world.views);
    assert_true(world.processes && world.flights && world.views);
}

static void world_close(void)
{
    free(world.processes);
    free(world.flights);
    free(world.views);
}

static void all_members_agree_after_random_events(void **state)
{
    const char *seed = getenv("WEFT_SEED");
    const char *seeds = getenv("WEFT_SEEDS");
    uint64_t last = seeds ? strtoull(seeds, NULL, 10) : SEEDS;
    uint64_t views = 0, processes = 0, sent = 0;
    world_open();
    if (seed) {
        world_run(strtoull(seed, NULL, 10));
    } else {
        for (uint64_t i = 1; i <= last; i++) {
            world_run(i);
            views += world.view_count;
            processes += world.process_count;
            sent += world.sent;
        }
        print_message("# seeds 1 to %llu: %llu processes, %llu views, %llu messages\n",
                      (unsigned long long)last, (unsigned long long)processes,
                      (unsigned long long)views, (unsigned long long)sent);
    }
    world_close();
}

TEST_MAIN(TEST(all_members_agree_after_random_events))
