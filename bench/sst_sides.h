#pragma once
/* sst_sides: what bench/sst measures, as sides of measured/pair.h and, for more than two processes,
 * of crowds. Each has a floor, which does the same with shared memory and no library. */

#include "measured/crowd.h"
#include "measured/pair.h"

/* ---- two processes: sst_detection.c, sst_rows.c ---- */

/* One process sets a number; a predicate of the other detects it, and its trigger sets another
 * number: a round trip. JOB_PING. The _high sides report the 99th percentile of single round trips,
 * the others the median. */
extern const struct side side_sst_writes, side_sst_writes_high;
extern const struct side side_sst_reads, side_sst_reads_high;
extern const struct side side_line, side_line_high; /* a bare cache line */

/* The time from a put (or a write to a Unix socket) until a process that has slept for
 * job->idle_usec notices it; one way. */
extern const struct side side_sst_wake;
extern const struct side side_unix_wake;

/* Rows of job->size bytes are published with a guard as fast as possible. The other process reads
 * the guard and then the data in place, which must never be older than the guard. Seconds per
 * publish, and (_tries) per read. JOB_STREAM. */
extern const struct side side_sst_rows, side_sst_rows_tries;
extern const struct side side_rows_floor, side_rows_floor_tries;

/* The same in turn: a round trip in which the guard is detected and the complete data is read.
 * JOB_PING. */
extern const struct side side_sst_row_ping;

/* ---- one process or several: sst_fire.c, sst_count.c, sst_crowd.c ---- */

#define LAP_MAX           1000
#define CROWD_MEMORY_SIZE (CROWD_MAX * 64)

/* Results of the process that measures time, for its parent. */
struct laps {
    int64_t since;
    uint32_t size;  /* actions of a lap */
    uint32_t left;  /* actions left in the current lap */
    uint32_t count; /* including the first lap, which is discarded */
    double values[LAP_MAX + 1];
};

struct crowd_task {
    const struct job *job;
    struct laps *laps;     /* used by the process with index 0 */
    unsigned char *memory; /* shared by all, initially zero, a cache line each */
    bool crowded;          /* more processes than cores: a waiting process must yield */
    uint64_t total;        /* actions of all laps */
};

struct crowd_side {
    const char *name;
    void (*run)(struct crowd *crowd, const struct crowd_task *task);
    bool loose; /* it pins itself when it is ready */
};

/* Like pair_run; the processes are pinned to the cores in turn. */
MUST_CHECK enum err crowd_side_run(const struct crowd_side *side, const struct job *job,
                                   uint32_t size, struct pair_result *result, struct why *why);

/* laps_start begins the first lap. laps_step counts one action, without a division. */
void laps_start(struct laps *laps);
void laps_lap(struct laps *laps);

static inline void laps_step(struct laps *laps)
{
    if (--laps->left == 0)
        laps_lap(laps);
}

/* One process with a predicate over all rows of a column that always holds: it is evaluated on
 * every pass, or (_named) when its trigger changes the column. The _many sides have 29 rows. */
extern const struct crowd_side side_fire, side_fire_many;
extern const struct crowd_side side_fire_named, side_fire_named_many;
extern const struct crowd_side side_fire_floor, side_fire_floor_many; /* a loop and two calls */

/* Each member takes the next number when all members have reached its own. */
extern const struct crowd_side side_count_writes, side_count_reads, side_count_floor;

/* Messages of 64 B that all members deliver in one order, sent by one member or by all; seconds per
 * message. JOB_STREAM. */
extern const struct crowd_side side_multicast_one, side_multicast_all;
