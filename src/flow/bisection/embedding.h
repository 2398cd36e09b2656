#pragma once
/* embedding: bounds halvings of tori and NovaCubes through another network.
 *
 * If a network H with weights on its edges can be routed in G so that no cable of G carries more
 * than 1, every halving cuts in G at least what it cuts in H, and that is bounded by H's second
 * eigenvalue. H = G is the spectral bound; H with equal weights on all pairs is the congestion
 * bound; the best H is better than both, and a linear program finds it: both networks are Cayley
 * graphs of the same group, so the eigenvalues of H are linear in its weights. */

#include "base/err.h"
#include "topology/topology.h"

/* A number that can be used as a second eigenvalue in spectral_bound if all nodes weigh the same. 0
 * unless the network is, cable by cable, a torus or a NovaCube of even sizes, and small enough. Its
 * Cayley property (flow/bisection/cayley.h) must hold. */
MUST_CHECK enum err embedding_eigenvalue(const struct topology *topology, double *eigenvalue,
                                         struct why *why);
