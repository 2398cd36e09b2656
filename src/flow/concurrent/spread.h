#pragma once
/* spread: a traffic distributed over paths, while the solver works on it.
 *
 * Every demand is carried in full; the solver looks for the spread whose busiest channel carries
 * least. Invariants, up to rounding: the rates of a demand's paths are >= 0 and sum to its amount;
 * in a settled spread, the load of a channel is the sum of the rates of the paths over it. */

#include <stdint.h>

#include "base/err.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/graph.h"

struct flow_spread {
    const struct graph *graph;     /* borrowed */
    const struct traffic *traffic; /* borrowed */
    struct path_set paths;         /* per demand; owned */
    double *rates;                 /* per path; owned */
    size_t rate_capacity;
    double *load;   /* per channel; owned */
    double busiest; /* the largest load */
};

/* Empty, without paths. */
MUST_CHECK enum err spread_open(struct flow_spread *spread, const struct graph *graph,
                                const struct traffic *traffic, struct why *why);
void spread_close(struct flow_spread *spread);

/* Adds a path with its rate to the last pair of spread->paths. */
MUST_CHECK enum err spread_add(struct flow_spread *spread, const uint32_t *channels, size_t hops,
                               double rate, struct why *why);

/* Computes the loads again; first scales each demand's rates to sum to its amount, so that rounding
 * errors do not accumulate over many moves. */
void spread_settle(struct flow_spread *spread);

/* Asserts the invariants of the rates, and that each path joins its demand's ends. */
void spread_check(const struct flow_spread *spread);
