#pragma once
/* node: a process of a crowd that is a member of a shared state table, like a machine of the
 * paper's cluster. It uses the table in triggers only, on the detector's thread; its main thread
 * sleeps meanwhile.
 *
 * The nodes of the paper have their own cores, and their detectors never stop polling. Here all
 * nodes share a few cores, so the way in which they wait matters. There are four:
 *   busy   detectors poll and give up the core only when the scheduler preempts them
 *   yield  detectors poll and yield the core after each pass
 *   sleep  detectors sleep until another node puts something and wakes them
 *   rest   only nodes that have something to detect poll; the others are members with rows, but
 *          run no code */

#include <weft/sst.h>

#include "measured/crowd.h"

#define NODE_ID(index) (1000 + (ripc_id)(index)) /* its id as a member */

enum sst_node_waiting { NODES_BUSY, NODES_YIELD, NODES_SLEEP, NODES_REST, SST_NODE_WAITING_COUNT };

extern const char *const sst_node_waiting_names[SST_NODE_WAITING_COUNT];
extern const char *const sst_node_design_names[2]; /* by enum sst_design */

/* The same for all nodes. */
struct sst_node_plan {
    enum sst_design design;
    enum sst_node_waiting waiting;
    bool fabric; /* over libfabric's tcp instead of shared memory */
    const struct sst_column *columns;
    uint32_t column_count;
    uint32_t row_size;
};

struct sst_node {
    struct crowd *crowd;
    struct ripc *ripc;
    struct sst *table;
    uint32_t rows[CROWD_MAX]; /* by index of the node: rows are assigned in the order of joining */
    bool rests;
};

/* Joins the table and returns when all nodes have joined. `acts`: this node has something to
 * detect. Like the calls below, it ends the process if it fails. */
void sst_node_open(struct sst_node *node, struct crowd *crowd, const struct sst_node_plan *plan,
                   bool acts);

void sst_node_check(const struct sst_node *node, int result, const char *what);

/* Sleeps until a trigger of this or another process sets the flag with release. */
void sst_node_await(const struct sst_node *node, const _Atomic bool *flag);
