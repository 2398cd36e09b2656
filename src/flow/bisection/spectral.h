#pragma once
/* spectral: what the eigenvalues of the Laplacian say about every halving.
 *
 * With L the Laplacian, W the diagonal of weights w, S their sum and x the
 * vector of +1 and -1 that tells the sides apart: x'Lx is four times the cut,
 * x'Wx is S, and w'x is the difference between the halves. If the matrix
 *
 *     M = L - sigma W + tau w w' / S
 *
 * has no negative eigenvalue then 0 <= x'Mx, that is, every halving cuts at
 * least (sigma S - tau gap^2 / S) / 4. The largest such sigma is the second
 * eigenvalue of L relative to W. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

#define SPECTRAL_NODE_MAX 5000u /* largest dense matrix: 200 MB, about 15 s */

/* The bound above. */
double spectral_bound(const struct halving *halving, double sigma, double tau);

/* An estimate of sigma, from above, and a vector of one value per node whose
 * order is a good place to cut. *found is false where there is none: the graph
 * is not connected or, with weights that differ, has too many nodes. `hurried`
 * takes a poor vector quickly. */
MUST_CHECK enum err spectral_estimate(const struct graph *graph, const struct halving *halving,
                                      bool hurried, uint64_t seed, bool *found, double *sigma,
                                      double *vector, struct why *why);

/* *proved is true only if M has no negative eigenvalue, rounding included. */
MUST_CHECK enum err spectral_prove(const struct graph *graph, const struct halving *halving,
                                   double sigma, double tau, bool *proved, struct why *why);

/* The best proved bound near an estimate of sigma; 0 if none was proved. Beyond
 * SPECTRAL_NODE_MAX nodes, with equal weights, polynomials take the place of
 * the factorisation (chebyshev.h, then walks.h) while their work is bearable. */
MUST_CHECK enum err spectral_lower(const struct graph *graph, const struct halving *halving,
                                   double sigma, uint64_t seed, struct observer progress,
                                   double *bound, struct why *why);
