#pragma once
/* sst_sides: what bench/sst measures, as sides of measured/pair.h and, for more than two
 * processes, of crowds; each with its floor, which does the same with memory that processes
 * share and no library. */

#include "measured/crowd.h"
#include "measured/pair.h"

/* ---- two processes: sst_detection.c, sst_rows.c ---- */

/* A number that one sets, a predicate of the other detects, whose trigger sets its own: there
 * and back. JOB_PING. The _high sides tell the 99th percentile of single round trips, the others
 * the median. */
extern const struct side side_sst_writes, side_sst_writes_high;
extern const struct side side_sst_reads, side_sst_reads_high;
extern const struct side side_line, side_line_high; /* a bare cache line */

/* From a put (or a write to a Unix socket) until it is noticed by one that has slept for
 * job->idle_usec; one way. */
extern const struct side side_sst_wake;
extern const struct side side_unix_wake;

/* Rows of job->size bytes, published with a guard as fast as can be while the other looks at
 * the guard and reads them in place, never finding data older than the guard: seconds of a publish,
 * and (_tries) of a look. JOB_STREAM. */
extern const struct side side_sst_rows, side_sst_rows_tries;
extern const struct side side_rows_floor, side_rows_floor_tries;

/* The same in turn: a publish whose guard is detected and whose data is got whole, there and
 * back. JOB_PING. */
extern const struct side side_sst_row_ping;

/* ---- one process or several: sst_fire.c, sst_count.c, sst_crowd.c ---- */

#define LAP_MAX           1000
#define CROWD_MEMORY_SIZE (CROWD_MAX * 64)

/* What the process that counts time leaves for its parent. */
struct laps {
    int64_t since;
    uint32_t size;  /* of a lap */
    uint32_t left;  /* of the lap under way */
    uint32_t count; /* with the first, which does not count */
    double values[LAP_MAX + 1];
};

struct crowd_task {
    const struct job *job;
    struct laps *laps;     /* for the process with index 0 */
    unsigned char *memory; /* shared by all, zeroes at first, a line each */
    bool crowded;          /* more processes than cores: whoever waits must yield */
    uint64_t total;        /* of all laps */
};

struct crowd_side {
    const char *name;
    void (*run)(struct crowd *crowd, const struct crowd_task *task);
    bool loose; /* it pins itself, when it is ready */
};

/* As pair_run; the processes are pinned to the cores in turn. */
MUST_CHECK enum err crowd_side_run(const struct crowd_side *side, const struct job *job,
                                   uint32_t size, struct pair_result *result, struct why *why);

/* Before the first; and one more is done, which costs no division. */
void laps_start(struct laps *laps);
void laps_lap(struct laps *laps);

static inline void laps_step(struct laps *laps)
{
    if (--laps->left == 0)
        laps_lap(laps);
}

/* A predicate over all rows of a column that holds and fires again and again, one process:
 * evaluated on every pass, or when the column changes that its trigger sets. The _many have
 * 29 rows. */
extern const struct crowd_side side_fire, side_fire_many;
extern const struct crowd_side side_fire_named, side_fire_named_many;
extern const struct crowd_side side_fire_floor, side_fire_floor_many; /* a loop and two calls */

/* Everybody counts when all have counted. */
extern const struct crowd_side side_count_writes, side_count_reads, side_count_floor;

/* Messages of 64 B that all deliver in one order, sent by one member or by all; seconds of a
 * message. JOB_STREAM. */
extern const struct crowd_side side_multicast_one, side_multicast_all;
