#pragma once
/* chebyshev: a proved bound on the second eigenvalue of a Laplacian too large
 * to be factored, good for graphs whose other eigenvalues lie close together,
 * as those of random graphs do. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/graph.h"

/* The second eigenvalue of the Laplacian is at least *bound. `low` and `high`
 * are where the second and the last are thought to be: any numbers make a
 * proof, good ones a good one. So do more steps, each of which costs one visit
 * of every cable for every node. */
MUST_CHECK enum err chebyshev_second(const struct graph *graph, double low, double high,
                                     uint32_t steps, struct observer progress, double *bound,
                                     struct why *why);
