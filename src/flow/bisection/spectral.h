#pragma once
/* spectral: bounds every halving by the eigenvalues of the Laplacian.
 *
 * Let L be the Laplacian, W the diagonal of weights w, S their sum and x the vector of +1 and -1
 * that distinguishes the sides. Then x'Lx is four times the cut, x'Wx is S, and w'x is the
 * difference between the halves. If the matrix
 *
 *     M = L - sigma W + tau w w' / S
 *
 * has no negative eigenvalue, then 0 <= x'Mx, that is, every halving cuts at least (sigma S - tau
 * gap^2 / S) / 4. The largest such sigma is the second eigenvalue of L relative to W. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

#define SPECTRAL_NODE_MAX 5000u /* largest dense matrix: 200 MB, about 15 s */

/* The bound above. */
double spectral_bound(const struct halving *halving, double sigma, double tau);

/* An estimate of sigma, from above, and a vector of one value per node; cutting the nodes in the
 * order of these values gives good halves. *found is false if there is no estimate: the graph is
 * not connected or, with different weights, has too many nodes. `hurried` computes a less exact
 * vector faster. */
MUST_CHECK enum err spectral_estimate(const struct graph *graph, const struct halving *halving,
                                      bool hurried, uint64_t seed, bool *found, double *sigma,
                                      double *vector, struct why *why);

/* *proved is true only if M has no negative eigenvalue, with rounding errors taken into account. */
MUST_CHECK enum err spectral_prove(const struct graph *graph, const struct halving *halving,
                                   double sigma, double tau, bool *proved, struct why *why);

/* The best proved bound near an estimate of sigma; 0 if none was proved. Beyond SPECTRAL_NODE_MAX
 * nodes, with equal weights, polynomials replace the factorisation (chebyshev.h, then walks.h) as
 * long as their work is acceptable. */
MUST_CHECK enum err spectral_lower(const struct graph *graph, const struct halving *halving,
                                   double sigma, uint64_t seed, struct observer progress,
                                   double *bound, struct why *why);
