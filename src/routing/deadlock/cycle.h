#pragma once
/* cycle: a shortest cycle of a directed graph. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arc {
    uint32_t from, to;
};

/* Writes the arcs of a shortest cycle, as indexes into `arcs` in the order of the cycle, to *cycle
 * (the caller frees it) and their number to *length. Without a cycle *cycle is NULL and *length 0.
 * Equal graphs give equal cycles. */
MUST_CHECK enum err cycle_shortest(const struct arc *arcs, uint32_t arc_count,
                                   uint32_t vertex_count, uint32_t **cycle, uint32_t *length,
                                   struct why *why);

/* Gives every vertex the number of its strongly connected component, from 0
 * (Tarjan 1972). */
MUST_CHECK enum err cycle_components(const struct arc *arcs, uint32_t arc_count,
                                     uint32_t vertex_count, uint32_t *component, uint32_t *count,
                                     struct why *why);
