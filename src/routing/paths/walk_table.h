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
#define WALK_FAR       UINT32_MAX

struct walk_table {
    const struct graph *graph; /* borrowed */
    uint32_t target;           /* NODE_NONE: not aimed yet */
    uint32_t *distance;        /* of each node from the target; WALK_FAR: there is no path */
    uint32_t *order;           /* the nodes that have one, nearest first ... */
    uint32_t order_count;
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

/* Slack that is left after a hop, or more than `slack` if it cannot be made:
 * a hop takes a walk one nearer, leaves it as far, or takes it one away. */
static inline uint32_t walk_table_left(const struct walk_table *table, uint32_t from, uint32_t to,
                                       uint32_t slack)
{
    return slack + table->distance[from] - 1 - table->distance[to]; /* below 0 wraps round */
}
