#pragma once
/* total: the most of a traffic that a network carries in all, where each demand
 * may be served in full, in part or not at all, under the best routing there
 * is, with a proof on both sides.
 *
 * flow/concurrent asks how much everybody gets at once, and the worst-placed
 * demand decides; here the mean over all demands counts. Where a failure cuts
 * a pair off the first is 0, and the second hardly less than before.
 *
 * Links have rate 1 in each direction. `lower` is what a flow that was found
 * carries. `upper` comes from weights w on channels, by duality: carrying one
 * unit is worth 1 and costs the distance under w, so that whatever the routing,
 * total <= sum(w) + sum(amount * max(0, 1 - distance under w)). */

#include <stdint.h>

#include "base/err.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

struct total {
    double lower, upper; /* of what leaves its node: traffic->local is not in it */
    double unreachable;  /* demand between nodes that no path joins: served nothing */
    uint64_t phases;     /* rounds of shortest paths */
};

/* To upper / lower - 1 <= gap, which is > 0; `phase_max` gives up after so many
 * rounds, 0 after a generous number. Both bounds hold even then. */
MUST_CHECK enum err total_solve(struct total *total, const struct topology *topology,
                                const struct traffic *traffic, double gap, uint64_t phase_max,
                                struct why *why);
