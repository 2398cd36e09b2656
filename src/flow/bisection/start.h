#pragma once
/* start: sides from which refinement starts. They need not be halves: refine_run turns them into
 * halves. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

/* Takes nodes in random order and puts each on the lighter side. */
MUST_CHECK enum err start_random(const struct halving *halving, struct rng *rng, uint8_t *side,
                                 struct why *why);

/* Grows a region breadth first from a random node until it has half the weight. */
MUST_CHECK enum err start_grown(const struct graph *graph, const struct halving *halving,
                                struct rng *rng, uint8_t *side, struct why *why);

/* Takes the nodes of least value until they have half the weight; ties in order of number. */
MUST_CHECK enum err start_by_value(const struct halving *halving, const double *value,
                                   uint8_t *side, struct why *why);

/* The graph in METIS' format, made once for many runs. */
struct start_metis {
    int32_t node_count;
    int32_t *first;  /* owned, like the others */
    int32_t *to;     /* parallel cables are merged into one edge ... */
    int32_t *cables; /* ... of this weight */
    int32_t *weight; /* per node */
};

MUST_CHECK enum err start_metis_init(struct start_metis *metis, const struct graph *graph,
                                     const struct halving *halving, struct why *why);
void start_metis_fini(struct start_metis *metis);

/* METIS' recursive bisection. *found is false if METIS fails. */
MUST_CHECK enum err start_metis_run(struct start_metis *metis, uint32_t seed, uint8_t *side,
                                    bool *found, struct why *why);
