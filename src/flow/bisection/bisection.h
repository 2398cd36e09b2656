#pragma once
/* bisection: the fewest cables between two halves of the servers, as a bracket: a proved lower
 * bound, and the best cut found.
 *
 * The two halves have the same number of servers (or of nodes, if no node has servers), or as close
 * to it as the topology allows. Nodes without servers may be on either side. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

struct bisection {
    uint64_t lower;           /* no halving cuts fewer cables than this ... */
    const char *lower_method; /* ... proved by this method */
    uint64_t upper;           /* the best halving found cuts this many ... */
    const char *upper_method; /* ... found by this method */
    uint8_t *side;            /* per node, 0 or 1: the cut of `upper`; owned */
    double almost_surely; /* Bollobas' bound: almost no random regular graph of this size is below
                             it; NaN for every other topology */
};

MUST_CHECK enum err bisection_find(struct bisection *bisection, const struct topology *topology,
                                   uint64_t seed, struct why *why);

/* The same, with progress reports for a caller that waits. */
MUST_CHECK enum err bisection_watch(struct bisection *bisection, const struct topology *topology,
                                    uint64_t seed, struct observer progress, struct why *why);

/* The same, but a small graph is bounded and searched like a large one instead of enumerating all
 * halvings: this shows the quality of the proofs and searches. */
MUST_CHECK enum err bisection_bracket(struct bisection *bisection, const struct topology *topology,
                                      uint64_t seed, struct why *why);
void bisection_fini(struct bisection *bisection);

/* Raises the lower bound to what the distances of all pairs prove (flow/bisection/reach.h), if that
 * is more, as in networks that are too large for other proofs. For callers that have measured the
 * distances anyway. */
MUST_CHECK enum err bisection_raise(struct bisection *bisection, const struct topology *topology,
                                    const struct distance_tally *tally, struct why *why);

/* The number of cables between the sides. */
uint64_t bisection_cut(const struct topology *topology, const uint8_t *side);

/* Bollobas: almost every r-regular graph of n nodes has no halving below this. */
double bisection_bollobas(double nodes, double degree);
