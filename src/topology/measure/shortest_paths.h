#pragma once
/* shortest_paths: how many there are between two nodes. Paths that differ in
 * one of two parallel cables are two. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wide.h"
#include "topology/graph.h"

struct shortest_paths {
    bool connected;    /* is there any path? if not, the rest is 0 */
    uint32_t distance; /* hops */
    uint128 count;     /* exact, unless ... */
    bool saturated;    /* ... there are 2^128 - 1 or more: then that */
};

/* From a node to itself there is one path, of no hops. */
MUST_CHECK enum err shortest_paths_count(struct shortest_paths *paths, const struct graph *graph,
                                         uint32_t from, uint32_t to, struct why *why);
