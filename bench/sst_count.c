/* sst_count: distributed counting. A member takes the next number only when all members have
 * reached its own. With more members than cores, waiting members yield. */
#include <sched.h>
#include <stdatomic.h>

#include "sst_desk.h"
#include "sst_sides.h"

struct count_row {
    uint64_t count;
};

enum { COUNT };

static const struct sst_column count_columns[] = {
    [COUNT] = SST_COLUMN(struct count_row, count, SST_U64, SST_GROWS),
};

struct counting {
    struct desk desk;
    struct laps *laps; /* NULL: another process measures the time */
    uint64_t total;
};

static bool all_have_counted(const struct sst *table, void *argument)
{
    const struct counting *counting = argument;
    return sst_all_at_least_u64(table, COUNT, counting->desk.seen);
}

static void count_on(struct sst *table, void *argument)
{
    struct counting *counting = argument;
    uint64_t seen = counting->desk.seen;
    if (counting->laps && seen > 0)
        laps_step(counting->laps);
    if (seen == counting->total) {
        counting->desk.seen = UINT64_MAX; /* the predicate does not hold again */
        sem_post(&counting->desk.done);
        return;
    }
    counting->desk.seen = seen + 1;
    sst_set_u64(table, COUNT, seen + 1);
}

static void count_run(struct crowd *crowd, const struct crowd_task *task, enum sst_design design)
{
    const struct desk_config config = {
        .folder = crowd->folder,
        .job = task->job,
        .yielding = task->crowded,
        .design = design,
        .columns = count_columns,
        .column_count = 1,
        .row_size = sizeof(struct count_row),
        .members = crowd->count,
    };
    struct counting counting = {.laps = crowd->index == 0 ? task->laps : NULL,
                                .total = task->total};
    if (!desk_open(&counting.desk, &config))
        crowd_fail(crowd, "%s", counting.desk.reason);
    crowd_meet(crowd);
    if (counting.laps)
        laps_start(counting.laps);
    if (!desk_predicate(&counting.desk, all_have_counted, count_on, &counting, COUNT))
        crowd_fail(crowd, "%s", counting.desk.reason);
    desk_wait(&counting.desk);
    crowd_meet(crowd);
    desk_close(&counting.desk);
}

static void count_writes_run(struct crowd *crowd, const struct crowd_task *task)
{
    count_run(crowd, task, SST_WRITES);
}

static void count_reads_run(struct crowd *crowd, const struct crowd_task *task)
{
    count_run(crowd, task, SST_READS);
}

/* Each process has a cache line, which it stores with release and all poll with acquire. */
static void count_floor_run(struct crowd *crowd, const struct crowd_task *task)
{
    struct line {
        _Alignas(64) _Atomic uint64_t count;
    } *lines = (struct line *)task->memory;
    crowd_meet(crowd);
    if (crowd->index == 0)
        laps_start(task->laps);
    for (uint64_t count = 1; count <= task->total; count++) {
        atomic_store_explicit(&lines[crowd->index].count, count, memory_order_release);
        for (uint32_t i = 0; i < crowd->count; i++)
            while (atomic_load_explicit(&lines[i].count, memory_order_acquire) < count)
                if (task->crowded)
                    sched_yield();
        if (crowd->index == 0)
            laps_step(task->laps);
    }
}

const struct crowd_side side_count_writes = {.name = "writes", .run = count_writes_run};
const struct crowd_side side_count_reads = {.name = "reads", .run = count_reads_run};
const struct crowd_side side_count_floor = {.name = "floor", .run = count_floor_run};
