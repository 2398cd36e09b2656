#pragma once
/* walks: a proved bound on the second smallest eigenvalue of the Laplacian of a regular graph that
 * is too large even for chebyshev.h. It counts walks, in integers of 16 bits instead of doubles: so
 * it handles four times as many numbers at once, and the counts have no rounding errors. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* Counts walks of `steps` cables and sets *bound: the second smallest eigenvalue of the Laplacian
 * is at least as large. If nothing was proved, *bound is 0: the graph is not regular of degree 3 or
 * more, there are too many steps, or a count does not fit into 16 bits. */
MUST_CHECK enum err walks_second(const struct graph *graph, uint32_t steps, double *bound,
                                 struct why *why);

/* Returns how many steps of walks_second read about this many cache lines: at least 1, or 0 if the
 * graph is not suitable. */
uint32_t walks_steps(const struct graph *graph, double lines);
