#pragma once
/* concurrent: the largest share of a traffic that a network can carry at once under the best
 * possible routing, with a proof of both bounds.
 *
 * Throughput is the largest t such that t times every demand fits at once on links of rate 1 in
 * each direction. `lower` is the t of the flow that is returned. `upper` comes from weights w on
 * channels, by duality: under any routing, t * sum(demand * distance under w) <= sum(w).
 *
 * Any program can check both bounds: flow/concurrent/certificate.h does, with code of its own. */

#include <stdint.h>

#include "base/err.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

struct concurrent_options {
    double gap;                   /* stop at upper / lower - 1 <= gap; > 0 */
    double enough;                /* also stop when lower reaches this, or ... */
    double too_little;            /* ... upper falls below this; 0: ignore both */
    uint64_t phase_max;           /* give up after this many phases; 0: a generous default */
    const struct path_set *paths; /* per demand: only these paths; NULL: any path */
    void (*progress)(void *context, double lower, double upper);
    void *context;
};

struct concurrent {
    double lower, upper;
    double gap;           /* upper / lower - 1 */
    uint64_t phases;      /* rounds of shortest paths, or of passes over the given paths */
    struct path_set flow; /* per demand of the traffic, in its order: paths ... */
    double *rates;        /* ... and how much each carries; demand i's sum to lower * amount */
    double *weights;      /* per channel, >= 0 */
};

void concurrent_fini(struct concurrent *concurrent);

/* Refuses traffic without demands between nodes, and demands without a path. */
MUST_CHECK enum err concurrent_solve(struct concurrent *concurrent, const struct topology *topology,
                                     const struct traffic *traffic,
                                     const struct concurrent_options *options, struct why *why);
