#pragma once
/* node: a process of a crowd that is a member of a shared state table, as a machine of the
 * paper's cluster is. All that it does with the table it does in triggers, on the detector's
 * thread; its main thread sleeps meanwhile.
 *
 * The paper's nodes have cores of their own, and their detectors never stop polling. Ours have
 * two cores for all, so who waits for whom decides everything, and there are four ways:
 *   busy   detectors poll and never give up the core but when they are made to
 *   yield  detectors poll, and after each look let the next one run
 *   sleep  detectors sleep until somebody puts something, who then has to wake them
 *   rest   only those who have something to detect poll; the others are members, their rows
 *          are there, and nothing of theirs runs */

#include <weft/sst.h>

#include "measured/crowd.h"

#define NODE_ID(index) (1000 + (ripc_id)(index)) /* its name as a member */

enum sst_node_waiting { NODES_BUSY, NODES_YIELD, NODES_SLEEP, NODES_REST, SST_NODE_WAITING_COUNT };

extern const char *const sst_node_waiting_names[SST_NODE_WAITING_COUNT];
extern const char *const sst_node_design_names[2]; /* by enum sst_design */

/* The same for all nodes. */
struct sst_node_plan {
    enum sst_design design;
    enum sst_node_waiting waiting;
    bool fabric; /* over libfabric's tcp in place of shared memory */
    const struct sst_column *columns;
    uint32_t column_count;
    uint32_t row_size;
};

struct sst_node {
    struct crowd *crowd;
    struct ripc *ripc;
    struct sst *table;
    uint32_t rows[CROWD_MAX]; /* by index: rows are given in the order of coming */
    bool rests;
};

/* Joins; when it returns everybody has. `acts`: this node has something to detect. It
 * ends the process where it cannot go on, as the others do. */
void sst_node_open(struct sst_node *node, struct crowd *crowd, const struct sst_node_plan *plan,
                   bool acts);

void sst_node_check(const struct sst_node *node, int result, const char *what);

/* Waits, asleep, for a flag that a trigger, here or elsewhere, sets with release. */
void sst_node_await(const struct sst_node *node, const _Atomic bool *flag);
