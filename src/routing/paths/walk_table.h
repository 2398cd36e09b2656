#pragma once
/* walk_table: how far every node is from one target, and how many walks of
 * which length lead there.
 *
 * A walk may repeat nodes, but ends when it first meets the target. Its slack
 * is the number of hops it takes more than it must. A level of the table is
 * the number of walks of one slack from every node: level 0 counts shortest
 * paths. Counts are sums of exact ones up to 2^53, then rounded, and stop at
 * WALK_COUNT_MAX; that one is zero is always exact. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

#define WALK_SLACK_MAX 15
#define WALK_COUNT_MAX 1e300 /* sums of as many as a node has ports are finite */

struct walk_table {
    const struct graph *graph; /* borrowed */
    uint32_t target;           /* NODE_NONE: not aimed yet */
    struct bfs bfs;            /* from the target: levels are distances to it */

    /* Hops of node v stand from graph->first[v] on: those that lead nearer to
     * the target, up to near_end[v]; those that lead as near, up to far_first[v];
     * those that lead away. */
    uint32_t *to, *channel;
    uint32_t *near_end, *far_first;

    uint32_t level_count;              /* levels that are ready for this target */
    double *walks[WALK_SLACK_MAX + 1]; /* by slack, then node; allocated when first needed */
};

MUST_CHECK enum err walk_table_init(struct walk_table *table, const struct graph *graph,
                                    struct why *why);
void walk_table_fini(struct walk_table *table);

/* Distances to a target; nothing to do if it is the last one's. */
void walk_table_aim(struct walk_table *table, uint32_t target);

/* Makes the levels up to this slack ready; it is WALK_SLACK_MAX at most. */
MUST_CHECK enum err walk_table_count(struct walk_table *table, uint32_t slack, struct why *why);

/* The end of the hops from a node that a walk of this slack can make. */
static inline uint32_t walk_table_end(const struct walk_table *table, uint32_t node, uint32_t slack)
{
    return slack == 0   ? table->near_end[node]
           : slack == 1 ? table->far_first[node]
                        : table->graph->first[node + 1];
}

/* Slack that is left after such a hop: it has cost 1 to stay as near, 2 to go away. */
static inline uint32_t walk_table_left(const struct walk_table *table, uint32_t node, uint32_t hop,
                                       uint32_t slack)
{
    return slack - (hop >= table->near_end[node]) - (hop >= table->far_first[node]);
}
