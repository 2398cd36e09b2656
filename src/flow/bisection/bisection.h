#pragma once
/* bisection: the fewest cables between two halves of the servers, as a
 * bracket: a bound that is proved, and the best cut found.
 *
 * The two halves hold the same number of servers (of nodes, where no node has
 * any), or as close to it as the topology allows. Nodes without servers may
 * stand on either side. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

struct bisection {
    uint64_t lower;           /* no halving cuts fewer cables than this ... */
    const char *lower_method; /* ... proved this way */
    uint64_t upper;           /* this halving cuts so many ... */
    const char *upper_method; /* ... and was found this way */
    uint8_t *side;            /* per node, 0 or 1: the cut of `upper`; owned */
    double almost_surely;     /* Bollobas' bound: below it lies almost no random regular
                               * graph of this size; NaN for every other topology */
};

MUST_CHECK enum err bisection_find(struct bisection *bisection, const struct topology *topology,
                                   uint64_t seed, struct why *why);

/* The same, for a caller who waits: it is told how far the work is. */
MUST_CHECK enum err bisection_watch(struct bisection *bisection, const struct topology *topology,
                                    uint64_t seed, struct observer progress, struct why *why);

/* The first again, but a small graph too is bounded and searched like a large one,
 * not looked through: what the proofs and searches are worth. */
MUST_CHECK enum err bisection_bracket(struct bisection *bisection, const struct topology *topology,
                                      uint64_t seed, struct why *why);
void bisection_fini(struct bisection *bisection);

/* Raises the lower bound to what the distances of all pairs prove
 * (flow/bisection/reach.h), if that is more: so it is where a network is too
 * large for other proofs. For callers who have measured them anyway. */
MUST_CHECK enum err bisection_raise(struct bisection *bisection, const struct topology *topology,
                                    const struct distance_tally *tally, struct why *why);

/* Cables between the sides. */
uint64_t bisection_cut(const struct topology *topology, const uint8_t *side);

/* Bollobas: almost every r-regular graph of n nodes has no halving under this. */
double bisection_bollobas(double nodes, double degree);
