#pragma once
/* length_bound: an upper bound on throughput for networks too large for a flow.
 *
 * A unit of traffic between nodes d hops apart takes up d channels or more, so
 * t times the sum of amount times distance is at most the number of channels,
 * two per link. It is what weights that are all 1 prove (concurrent.h), and it
 * is reached where every channel can be full of traffic on shortest paths. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/traffic/traffic.h"
#include "topology/graph.h"
#include "topology/measure/distance.h"

#define HOPS_NONE UINT32_MAX

/* Hops between the ends of each demand, HOPS_NONE where there is no path. Any
 * part of a traffic's demands may be asked for, so that threads can share them. */
MUST_CHECK enum err length_bound_hops(const struct graph *graph, const struct demand *demands,
                                      size_t count, uint32_t *hops, struct why *why);

/* Sum of amount times hops; all of the demands have a path. */
double length_bound_sum(const struct demand *demands, size_t count, const uint32_t *hops);

/* The same for one unit between every ordered pair of servers. */
double length_bound_all(const struct distance_tally *tally);

/* The bound; INFINITY if no traffic leaves its node. */
double length_bound(const struct graph *graph, double sum);
