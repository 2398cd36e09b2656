#pragma once
/* reach: halvings bounded by how near the servers are to each other.
 *
 * Let every pair of servers at most d hops apart exchange one unit over one
 * shortest path. Where no node has more than r cables, at most
 * j (r-1)^(j-1) shortest paths of j hops can lead over a cable: it is the
 * first, second, ... or last of the j, and from either end there are r - 1
 * ways on at every step. So no cable carries more than
 *
 *     C = w^2 (1 + 2 (r-1) + ... + d (r-1)^(d-1))
 *
 * units, w being the most servers of a node; and of the pairs that a halving
 * separates, light * heavy, all but those farther apart than d cross it. It
 * cuts at least (light * heavy - far) / C cables, whatever d is.
 *
 * The distances are the whole of the work, so this proof is there for networks
 * too large for all others; the better the network, the better the proof. */

#include <stdint.h>

#include "flow/bisection/halving.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

/* The bound of the best d, from the tally of all pairs. In whole numbers, so
 * there is no rounding to allow for. */
uint64_t reach_lower(const struct topology *topology, const struct halving *halving,
                     const struct distance_tally *tally);
