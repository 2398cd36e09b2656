#pragma once
/* capacity: the highest rate of every node under uniform traffic.
 *
 * Each node with servers sends its rate in equal shares to all such nodes, including itself; the
 * share to itself needs no link. The capacity is the highest rate that the best routing carries, in
 * units of the rate of a link. The throughput of an algorithm is measured relative to it. */

#include <stdbool.h>

#include "base/err.h"
#include "topology/topology.h"

struct capacity {
    double lower, upper; /* proved bounds; equal if the capacity is known exactly */
    bool closed_form;    /* by counting; else by a flow and its bound */
};

/* `gap` is the allowed relative distance of the two bounds if they must be searched for. */
MUST_CHECK enum err uniform_capacity(struct capacity *capacity, const struct topology *topology,
                                     double gap,
                                     void (*progress)(void *context, double lower, double upper),
                                     void *context, struct why *why);

/* The mean of the two bounds. */
static inline double capacity_middle(const struct capacity *capacity)
{
    return capacity->lower + (capacity->upper - capacity->lower) / 2;
}
