#pragma once
/* reach: bounds halvings by the distances between servers.
 *
 * Let every pair of servers at most d hops apart exchange one unit over one shortest path. If no
 * node has more than r cables, at most j (r-1)^(j-1) shortest paths of j hops can use a given
 * cable: it is the first, second, ... or last of the j, and from either end there are r - 1 ways to
 * continue at every step. So no cable carries more than
 *
 *     C = w^2 (1 + 2 (r-1) + ... + d (r-1)^(d-1))
 *
 * units, where w is the largest number of servers of a node. Of the light * heavy pairs that a
 * halving separates, all but those farther apart than d cross it. So it cuts at least (light *
 * heavy - far) / C cables, for any d.
 *
 * The distances are all the work, so this proof is possible for networks that are too large for all
 * other proofs; the better the network, the better the bound. */

#include <stdint.h>

#include "flow/bisection/halving.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

/* The bound of the best d, from the tally of all pairs. In integers, so there is no rounding
 * error. */
uint64_t reach_lower(const struct topology *topology, const struct halving *halving,
                     const struct distance_tally *tally);
