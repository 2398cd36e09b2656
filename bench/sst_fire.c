/* sst_fire: how often a predicate over all rows is evaluated and its trigger fires if it always
 * holds: the cost of the calls. One process. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sst/table/aggregate.h"
#include "sst/table/predicate.h"
#include "sst/table/row.h"
#include "sst_desk.h"
#include "sst_sides.h"

#define MANY 29

struct flag_row {
    uint64_t flag;
};

enum { FLAG };

static const struct sst_column flag_columns[] = {
    [FLAG] = SST_COLUMN(struct flag_row, flag, SST_U64, 0),
};

struct firing {
    struct desk desk;
    struct laps *laps;
    uint64_t fired, total;
};

/* ---- on every pass ---- */

static bool all_have_set(const struct sst *table, void *argument)
{
    const struct firing *firing = argument;
    return firing->fired < firing->total && sst_all_at_least_u64(table, FLAG, 1);
}

static void fire_count(struct sst *table, void *argument)
{
    struct firing *firing = argument;
    laps_step(firing->laps);
    if (++firing->fired == firing->total)
        sem_post(&firing->desk.done);
}

/* ---- when the column changes ---- */

static bool all_have_reached(const struct sst *table, void *argument)
{
    const struct firing *firing = argument;
    return sst_all_at_least_u64(table, FLAG, firing->fired);
}

static void fire_set(struct sst *table, void *argument)
{
    fire_count(table, argument);
    const struct firing *firing = argument;
    if (firing->fired < firing->total)
        sst_set_u64(table, FLAG, firing->fired + 1);
}

/* ---- one row ---- */

static void firing_open(struct firing *firing, struct crowd *crowd, const struct crowd_task *task,
                        const struct job *job, struct ripc *ripc)
{
    const struct desk_config config = {
        .folder = crowd->folder,
        .job = job,
        .ripc = ripc,
        .columns = flag_columns,
        .column_count = 1,
        .row_size = sizeof(struct flag_row),
        .members = 1,
    };
    *firing = (struct firing){.laps = task->laps, .total = task->total};
    if (!desk_open(&firing->desk, &config))
        crowd_fail(crowd, "%s", firing->desk.reason);
    sst_set_u64(firing->desk.table, FLAG, 1);
}

static void firing_run(struct firing *firing, struct crowd *crowd, sst_holds *holds, sst_fire *fire,
                       uint32_t column)
{
    laps_start(firing->laps);
    if (!desk_predicate(&firing->desk, holds, fire, firing, column))
        crowd_fail(crowd, "%s", firing->desk.reason);
    desk_wait(&firing->desk);
}

static void fire_run(struct crowd *crowd, const struct crowd_task *task)
{
    struct firing firing;
    firing_open(&firing, crowd, task, task->job, NULL);
    firing_run(&firing, crowd, all_have_set, fire_count, UINT32_MAX);
    desk_close(&firing.desk);
}

static void fire_named_run(struct crowd *crowd, const struct crowd_task *task)
{
    struct firing firing;
    firing_open(&firing, crowd, task, task->job, NULL);
    firing_run(&firing, crowd, all_have_reached, fire_set, FLAG);
    desk_close(&firing.desk);
}

/* ---- 29 rows: the other members are in this process, and sleep ---- */

static void fire_many_run(struct crowd *crowd, const struct crowd_task *task)
{
    static struct firing firing, sleepers[MANY - 1];
    struct job waiting = *task->job;
    waiting.adaptive = true;
    for (int i = 0; i < MANY - 1; i++)
        firing_open(&sleepers[i], crowd, task, &waiting, i ? sleepers[0].desk.ripc : NULL);
    crowd_pin(0);
    firing_open(&firing, crowd, task, task->job, sleepers[0].desk.ripc);
    if (sst_live_count(firing.desk.table) != MANY)
        crowd_fail(crowd, "only %u of %d members joined", sst_live_count(firing.desk.table), MANY);
    firing_run(&firing, crowd, all_have_set, fire_count, UINT32_MAX);
    desk_close(&firing.desk);
    for (int i = MANY - 2; i >= 0; i--)
        desk_close(&sleepers[i].desk);
}

/* ---- 29 rows, one of which the trigger sets: only the pure part ---- */

/* There are no other members to inform: what remains is the comparison of 29 rows, the evaluation
 * and the call. */
struct still {
    struct firing firing; /* first: triggers receive a pointer to it */
    struct table table;
    uint8_t *own;
};

static bool still_reached(const struct sst *table, void *argument)
{
    const struct still *still = argument;
    return aggregate_all_at_least_u64(&still->table, FLAG, 1);
}

static void still_set(struct sst *table, void *argument)
{
    struct still *still = argument;
    uint64_t fired = ++still->firing.fired;
    laps_step(still->firing.laps);
    row_set(still->own, still->table.schema.columns[FLAG].cell, fired + 1, 2 * fired);
}

static void still_fill(struct crowd *crowd, struct still *still)
{
    struct schema schema;
    struct why why = {""};
    if (schema_make(&schema, flag_columns, 1, sizeof(struct flag_row), &why) ||
        table_init(&still->table, &schema, MANY))
        crowd_fail(crowd, "cannot make a table: %s", why.text);
    for (uint32_t i = 0; i < MANY; i++) {
        uint8_t *row = aligned_alloc(SCHEMA_LINE, schema.row_size);
        if (!row)
            crowd_fail(crowd, "not enough memory");
        memset(row, 0, schema.row_size);
        row_set(row, schema.columns[FLAG].cell, 1, 2);
        atomic_store_explicit(&still->table.rows[i], row, memory_order_release);
        still->own = row;
    }
    atomic_store_explicit(&still->table.live[0], (1ULL << MANY) - 1, memory_order_release);
}

static void fire_named_many_run(struct crowd *crowd, const struct crowd_task *task)
{
    static struct still still;
    struct predicates predicates;
    struct sst_predicate predicate = {
        .kind = SST_RECURRENT,
        .holds = still_reached,
        .fire = still_set,
        .argument = &still,
        .columns = &(uint32_t){FLAG},
        .column_count = 1,
    };
    still.firing = (struct firing){.laps = task->laps, .total = task->total};
    still_fill(crowd, &still);
    if (predicates_init(&predicates, &still.table) || predicates_add(&predicates, &predicate, NULL))
        crowd_fail(crowd, "not enough memory");
    predicates_rows_changed(&predicates);
    laps_start(task->laps);
    while (still.firing.fired < still.firing.total)
        if (predicates_pass(&predicates, NULL) != 1)
            crowd_fail(crowd, "a pass evaluated nothing");
    predicates_fini(&predicates);
}

/* ---- the floor: a loop over cache lines, and two calls that are not inlined ---- */

struct bare {
    struct laps *laps;
    uint64_t fired;
    uint32_t lines;
    struct {
        _Alignas(64) _Atomic uint64_t flag;
    } rows[MANY];
};

static __attribute__((noinline)) bool bare_holds(const struct bare *bare)
{
    for (uint32_t i = 0; i < bare->lines; i++)
        if (atomic_load_explicit(&bare->rows[i].flag, memory_order_acquire) < 1)
            return false;
    return true;
}

static __attribute__((noinline)) void bare_fire(struct bare *bare)
{
    bare->fired++;
    laps_step(bare->laps);
}

static void bare_run(const struct crowd_task *task, uint32_t lines)
{
    static struct bare bare;
    bare.laps = task->laps;
    bare.lines = lines;
    for (uint32_t i = 0; i < lines; i++)
        atomic_store_explicit(&bare.rows[i].flag, 1, memory_order_relaxed);
    laps_start(task->laps);
    while (bare.fired < task->total)
        if (bare_holds(&bare))
            bare_fire(&bare);
}

static void fire_floor_run(struct crowd *crowd, const struct crowd_task *task)
{
    bare_run(task, 1);
}

static void fire_floor_many_run(struct crowd *crowd, const struct crowd_task *task)
{
    bare_run(task, MANY);
}

const struct crowd_side side_fire = {.name = "fire", .run = fire_run};
const struct crowd_side side_fire_many = {.name = "fire", .run = fire_many_run, .loose = true};
const struct crowd_side side_fire_named = {.name = "fire", .run = fire_named_run};
const struct crowd_side side_fire_named_many = {.name = "fire", .run = fire_named_many_run};
const struct crowd_side side_fire_floor = {.name = "floor", .run = fire_floor_run};
const struct crowd_side side_fire_floor_many = {.name = "floor", .run = fire_floor_many_run};
