#pragma once
/* capacity: the most that every node can send when all send to all alike.
 *
 * Each node with servers sends its rate in equal shares to all such nodes, the
 * share to itself included, which needs no link. The capacity is the highest
 * rate that the best routing carries, in rates of a link: what the throughput
 * of an algorithm is measured against. */

#include <stdbool.h>

#include "base/err.h"
#include "topology/topology.h"

struct capacity {
    double lower, upper; /* proved on both sides; equal where it is known exactly */
    bool closed_form;    /* by counting; else by a flow and its bound */
};

/* `gap` is how far apart the two sides may be, as a share, where they must be
 * searched for. */
MUST_CHECK enum err uniform_capacity(struct capacity *capacity, const struct topology *topology,
                                     double gap,
                                     void (*progress)(void *context, double lower, double upper),
                                     void *context, struct why *why);

/* Between the two. */
static inline double capacity_middle(const struct capacity *capacity)
{
    return capacity->lower + (capacity->upper - capacity->lower) / 2;
}
