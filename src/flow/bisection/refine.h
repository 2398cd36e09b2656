#pragma once
/* refine: turns any two sides into halves, and reduces the cables between them.
 *
 * This is the algorithm of Fiduccia and Mattheyses, with gain buckets. In a pass the nodes move one
 * after the other, the node of greatest gain first, even if the move makes the cut worse; each node
 * moves at most once. The best halving on the way is kept. The algorithm is deterministic: the same
 * input gives the same output. */

#include <stdint.h>

#include "base/err.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

/* The number of weight classes with bucket lists of their own. If there are more classes, the
 * lightest ones share the lists of the last. */
#define REFINE_CLASS_MAX 12u

struct refine {
    const struct graph *graph; /* borrowed, as is the halving */
    const struct halving *halving;
    uint32_t span;     /* buckets per list: gains from -degree_max to +degree_max */
    uint32_t lists;    /* one per class and side */
    uint32_t *head;    /* lists * span: first node of a bucket, or NODE_NONE */
    uint32_t *top;     /* per list: no bucket above this one is in use */
    uint32_t *next;    /* per node, the next one in its bucket ... */
    uint32_t *before;  /* ... and the previous one */
    int32_t *gain;     /* per node: by how many cables moving it would reduce the cut */
    uint32_t *moved;   /* nodes in the order of moving */
    uint8_t *locked;   /* per node: it has moved in this pass */
    int64_t excess;    /* weight of side 0 minus side 1 */
    uint64_t cut;      /* cables between the sides */
    uint32_t patience; /* moves without a better halving before a pass is stopped */
};

MUST_CHECK enum err refine_init(struct refine *refine, const struct graph *graph,
                                const struct halving *halving, struct why *why);
void refine_fini(struct refine *refine);

/* Turns any sides into halves, and refines them until a pass gains nothing. Returns the number of
 * cables cut. */
uint64_t refine_run(struct refine *refine, uint8_t *side);
