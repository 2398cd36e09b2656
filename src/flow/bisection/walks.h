#pragma once
/* walks: a proved bound on the second eigenvalue of the Laplacian of a regular graph that is too
 * large even for chebyshev.h. It counts in integers of 16 bits instead of doubles, so that it
 * handles four times as many numbers at once and has no rounding errors. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* The second eigenvalue of the Laplacian is at least *bound, from walks of `steps` cables. 0 if
 * nothing was proved: the graph is not regular of degree 3 or more, or the numbers of walks do not
 * fit. */
MUST_CHECK enum err walks_second(const struct graph *graph, uint32_t steps, double *bound,
                                 struct why *why);

/* The largest number of steps whose work is at most that of reading this many cache lines. */
uint32_t walks_steps(const struct graph *graph, double lines);
