#pragma once
/* chebyshev: a proved bound on the second smallest eigenvalue of a Laplacian that is too large to
 * be factored. The bound is good for graphs whose larger eigenvalues are close together, such as
 * random graphs. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/graph.h"

/* Sets *bound: the second smallest eigenvalue of the Laplacian is at least as large. `low` and
 * `high` are estimates of the second smallest and of the largest eigenvalue. The bound holds for
 * any estimates, and is better for better ones. More steps also improve it; for every node, each
 * step visits all cables once. If nothing was proved, *bound is 0. */
MUST_CHECK enum err chebyshev_second(const struct graph *graph, double low, double high,
                                     uint32_t steps, struct observer progress, double *bound,
                                     struct why *why);
