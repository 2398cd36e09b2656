#pragma once
/* refine: makes halves of any two sides, and fewer cables between them.
 *
 * Fiduccia and Mattheyses' passes over gain buckets: every node moves once,
 * the best first, also where that makes things worse; the best halving met on
 * the way is kept. Deterministic: the same sides in give the same sides out. */

#include <stdint.h>

#include "base/err.h"
#include "flow/bisection/halving.h"
#include "topology/graph.h"

/* Weight classes with bucket lists of their own; the lightest share the last. */
#define REFINE_CLASS_MAX 12u

struct refine {
    const struct graph *graph; /* borrowed, as is the halving */
    const struct halving *halving;
    uint32_t span;     /* buckets per list: gains from -degree_max to +degree_max */
    uint32_t lists;    /* one per class and side */
    uint32_t *head;    /* lists * span: first node of a bucket, or NODE_NONE */
    uint32_t *top;     /* per list: no bucket above this one is in use */
    uint32_t *next;    /* per node, within its bucket ... */
    uint32_t *before;  /* ... and back */
    int32_t *gain;     /* per node: cables it would take out of the cut by moving */
    uint32_t *moved;   /* nodes in the order moved */
    uint8_t *locked;   /* per node: has moved in this pass */
    int64_t excess;    /* weight of side 0 less side 1 */
    uint64_t cut;      /* cables between the sides */
    uint32_t patience; /* moves without a better halving before a pass is given up */
};

MUST_CHECK enum err refine_init(struct refine *refine, const struct graph *graph,
                                const struct halving *halving, struct why *why);
void refine_fini(struct refine *refine);

/* Turns any sides into halves, and refines them until a pass gains nothing.
 * Returns the cables cut. */
uint64_t refine_run(struct refine *refine, uint8_t *side);
