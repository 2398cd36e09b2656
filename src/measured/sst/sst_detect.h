#pragma once
/* detect: the time until a predicate is detected, measured as in the paper: node 0 changes its row;
 * answering nodes detect that and change their rows; node 0 detects that. All of it happens in
 * triggers. One such round is a trip.
 *
 * A measurement has several acts. In each act node 0 waits for another set of rows. The answering
 * node is the last one, so that it and node 0 have a core each, unless all nodes answer. */

#include "measured/sst/sst_node.h"
#include "measured/sst/sst_trip.h"

#define DETECT_ACTS_MAX     4
#define DETECT_ELEMENTS_MAX 1024

struct detect_act {
    uint32_t rows;        /* other rows that node 0's predicate reads: 1 to nodes - 1 */
    bool all;             /* all nodes answer, not only the last */
    bool elements;        /* the predicate reads all elements of all rows */
    uint32_t trips, warm; /* of struct trip_log */
};

struct detect_job {
    uint32_t nodes;
    enum sst_design design;
    enum sst_node_waiting waiting;
    bool fabric;
    uint32_t elements; /* the column has so many 32-bit numbers; 0: one 64-bit number */
    uint64_t seed;
    uint32_t act_count;
    struct detect_act acts[DETECT_ACTS_MAX];
};

/* One log for each act, in crowd_memory. If something needed is not on this machine, the logs are
 * empty, and `missing` says what. */
struct detect_result {
    struct trip_log acts[DETECT_ACTS_MAX];
    char missing[CROWD_REASON_SIZE];
};

MUST_CHECK enum err detect_run(const struct detect_job *job, struct detect_result *result,
                               struct why *why);
