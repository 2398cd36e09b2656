#pragma once
/* detect: how long it takes until a predicate is seen to hold, by the paper's way: node 0
 * changes its row, which others see and answer by changing theirs, which node 0 sees. All of
 * it happens in triggers.
 *
 * In each act node 0 waits for another set of rows; the node that answers is always the last,
 * so that it and node 0 have a core each. */

#include "measured/sst/sst_node.h"
#include "measured/sst/sst_trip.h"

#define DETECT_ACTS_MAX     4
#define DETECT_ELEMENTS_MAX 1024

struct detect_act {
    uint32_t rows;        /* that node 0's predicate reads besides its own: from 1 to nodes - 1 */
    bool all;             /* every node answers, not the last alone */
    bool elements;        /* and it reads all elements of all rows */
    uint32_t trips, warm; /* of struct trip_log */
};

struct detect_job {
    uint32_t nodes;
    enum sst_design design;
    enum sst_node_waiting waiting;
    bool fabric;
    uint32_t elements; /* of the only column: 32-bit numbers; 0: it is one 64-bit number */
    uint64_t seed;
    uint32_t act_count;
    struct detect_act acts[DETECT_ACTS_MAX];
};

/* One log for each act, in crowd_memory. Without trips, and with a reason, if what it takes is
 * not on this machine. */
struct detect_result {
    struct trip_log acts[DETECT_ACTS_MAX];
    char missing[CROWD_REASON_SIZE];
};

MUST_CHECK enum err detect_run(const struct detect_job *job, struct detect_result *result,
                               struct why *why);
