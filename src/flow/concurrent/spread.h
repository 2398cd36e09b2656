#pragma once
/* spread: a traffic laid over paths, while the solver works on it.
 *
 * Every demand is carried in full; what is sought is the spread whose busiest
 * channel carries least. Invariants, up to rounding: the rates of a demand's
 * paths are >= 0 and sum to its amount; once settled, the load of a channel is
 * the sum of the rates of the paths over it. */

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

/* Gives the last pair of spread->paths one more path, with its rate. */
MUST_CHECK enum err spread_add(struct flow_spread *spread, const uint32_t *channels, size_t hops,
                               double rate, struct why *why);

/* Adds the loads up anew; each demand's rates are first scaled to sum to its
 * amount, so that rounding does not add up over many moves. */
void spread_settle(struct flow_spread *spread);

/* Asserts what holds of the rates, and that each path joins its demand's ends. */
void spread_check(const struct flow_spread *spread);
