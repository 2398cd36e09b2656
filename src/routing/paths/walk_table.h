#pragma once
/* walk_table: the distance of every node from one target, and the number of walks of each length to
 * it.
 *
 * A walk may repeat nodes, but ends when it first reaches the target. Its slack is the number of
 * hops beyond the distance. A level of the table is the number of walks of one slack from every
 * node: level 0 counts shortest paths. Counts are exact up to 2^53, then rounded, and saturate at
 * WALK_COUNT_MAX; a count of zero is always exact. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

#define WALK_SLACK_MAX 15
#define WALK_COUNT_MAX 1e300 /* a sum of this many per port of a node stays finite */

struct walk_table {
    const struct graph *graph; /* borrowed */
    uint32_t target;           /* NODE_NONE: not set yet */
    struct bfs bfs;            /* from the target: levels are distances to it */

    /* The hops of node v begin at graph->first[v]: first those that lead nearer to the target, up
     * to near_end[v]; then those that keep the distance, up to far_first[v]; then those that lead
     * away. */
    uint32_t *to, *channel;
    uint32_t *near_end, *far_first;

    uint32_t level_count;              /* levels that are ready for this target */
    double *walks[WALK_SLACK_MAX + 1]; /* by slack, then node; allocated when first needed */
};

MUST_CHECK enum err walk_table_init(struct walk_table *table, const struct graph *graph,
                                    struct why *why);
void walk_table_fini(struct walk_table *table);

/* Computes the distances to a target; does nothing if it is the current target. */
void walk_table_aim(struct walk_table *table, uint32_t target);

/* Makes the levels up to this slack ready; it is at most WALK_SLACK_MAX. */
MUST_CHECK enum err walk_table_count(struct walk_table *table, uint32_t slack, struct why *why);

/* The end of the hops from a node that a walk of this slack can take. */
static inline uint32_t walk_table_end(const struct walk_table *table, uint32_t node, uint32_t slack)
{
    return slack == 0   ? table->near_end[node]
           : slack == 1 ? table->far_first[node]
                        : table->graph->first[node + 1];
}

/* The slack that is left after such a hop: keeping the distance costs 1, going away costs 2. */
static inline uint32_t walk_table_left(const struct walk_table *table, uint32_t node, uint32_t hop,
                                       uint32_t slack)
{
    return slack - (hop >= table->near_end[node]) - (hop >= table->far_first[node]);
}
