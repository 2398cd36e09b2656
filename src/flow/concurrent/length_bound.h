#pragma once
/* length_bound: an upper bound on throughput for networks that are too large for a flow.
 *
 * A unit of traffic between nodes d hops apart uses d channels or more, so t times the sum of
 * amount times distance is at most the number of channels, two per link. Weights that are all 1
 * prove this bound (concurrent.h). It is reached if every channel can be full of traffic on
 * shortest paths. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/traffic/traffic.h"
#include "topology/graph.h"
#include "topology/measure/distance.h"

#define HOPS_NONE UINT32_MAX

/* Hops between the ends of each demand, HOPS_NONE if there is no path. Works for any part of a
 * traffic's demands, so that threads can share them. */
MUST_CHECK enum err length_bound_hops(const struct graph *graph, const struct demand *demands,
                                      size_t count, uint32_t *hops, struct why *why);

/* Sum of amount times hops; all demands must have a path. */
double length_bound_sum(const struct demand *demands, size_t count, const uint32_t *hops);

/* The same for one unit between every ordered pair of servers. */
double length_bound_all(const struct distance_tally *tally);

/* The bound; INFINITY if no traffic leaves its node. */
double length_bound(const struct graph *graph, double sum);
