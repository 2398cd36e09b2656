#pragma once
/* concurrent: the most of a traffic that a network carries at once, under the
 * best routing there is, with a proof on both sides.
 *
 * Throughput is the largest t such that t times every demand fits at once on
 * links of rate 1 in each direction. `lower` is the t of the flow that is
 * returned. `upper` comes from weights w on channels, by duality: whatever the
 * routing, t * sum(demand * distance under w) <= sum(w).
 *
 * Everybody can check both: flow/concurrent/certificate.h does, with code of
 * its own. */

#include <stdint.h>

#include "base/err.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

struct concurrent_options {
    double gap;                   /* stop at upper / lower - 1 <= gap; > 0 */
    double enough;                /* stop also once lower reaches this, or ... */
    double too_little;            /* ... upper falls below this; 0: do not */
    uint64_t phase_max;           /* give up after so many; 0: a generous default */
    const struct path_set *paths; /* only these, per demand; NULL: any path */
    void (*progress)(void *context, double lower, double upper);
    void *context;
};

struct concurrent {
    double lower, upper;
    double gap;           /* upper / lower - 1 */
    uint64_t phases;      /* rounds of shortest paths, or of going through the given ones */
    struct path_set flow; /* per demand of the traffic, in its order: paths ... */
    double *rates;        /* ... and how much each carries; demand i's sum to lower * amount */
    double *weights;      /* per channel, >= 0 */
};

void concurrent_fini(struct concurrent *concurrent);

/* Refuses traffic without demands between nodes, and demands without a path. */
MUST_CHECK enum err concurrent_solve(struct concurrent *concurrent, const struct topology *topology,
                                     const struct traffic *traffic,
                                     const struct concurrent_options *options, struct why *why);
