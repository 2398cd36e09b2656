#pragma once
/* chebyshev: a proved bound on the second eigenvalue of a Laplacian that is too large to be
 * factored; good for graphs whose other eigenvalues are close together, like those of random
 * graphs. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/graph.h"

/* The second eigenvalue of the Laplacian is at least *bound. `low` and `high` are estimates of the
 * second and the last eigenvalue: any numbers give a valid proof, good estimates a good bound. More
 * steps give a better bound too; each step visits every cable once for every node. */
MUST_CHECK enum err chebyshev_second(const struct graph *graph, double low, double high,
                                     uint32_t steps, struct observer progress, double *bound,
                                     struct why *why);
