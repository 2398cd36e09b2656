#pragma once
/* congestion: bounds halvings by routing.
 *
 * Let every pair of servers exchange one unit, over any paths, in any shares. A halving separates
 * light * heavy pairs, and each of them crosses the cut; if no cable carries more than C units,
 * there are at least light * heavy / C cables in the cut. Every routing is a proof; a more even one
 * is a better proof. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "flow/bisection/cayley.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

/* The bound from shortest paths, each split evenly, made more even by some rounds in which crowded
 * cables count as longer. 0 if the graph is not connected or the work is too much. */
MUST_CHECK enum err congestion_lower(const struct graph *graph, const struct halving *halving,
                                     const struct cayley *cayley, double *bound, struct why *why);
