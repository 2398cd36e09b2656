#pragma once
/* total: the largest total amount of a traffic that a network can carry, if each demand may be
 * served in full, in part or not at all, under the best possible routing, with a proof of both
 * bounds.
 *
 * flow/concurrent finds the share that all demands get at once, so the worst-placed demand decides;
 * here the mean over all demands counts. If a failure disconnects a pair, the share of all is 0,
 * and the mean is hardly less than before.
 *
 * Links have rate 1 in each direction. `lower` is the total of a flow that was found. `upper` comes
 * from weights w on channels, by duality: carrying one unit gains 1 and costs the distance under w,
 * so under any routing total <= sum(w) + sum(amount * max(0, 1 - distance under w)). */

#include <stdint.h>

#include "base/err.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

struct total {
    double lower, upper; /* of traffic that leaves its node: without traffic->local */
    double unreachable;  /* demand between nodes that no path joins, which gets nothing */
    uint64_t phases;     /* rounds of shortest paths */
};

/* Solves to upper / lower - 1 <= gap, which is > 0; gives up after `phase_max` rounds (0: a
 * generous default). Both bounds hold even then. */
MUST_CHECK enum err total_solve(struct total *total, const struct topology *topology,
                                const struct traffic *traffic, double gap, uint64_t phase_max,
                                struct why *why);
