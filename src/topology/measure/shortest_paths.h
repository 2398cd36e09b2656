#pragma once
/* shortest_paths: the number of shortest paths between two nodes. Paths that use different cables
 * of a parallel pair are different paths. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wide.h"
#include "topology/graph.h"

struct shortest_paths {
    bool connected;    /* is there any path? if not, the other fields are 0 */
    uint32_t distance; /* hops */
    uint128 count;     /* exact, unless saturated */
    bool saturated;    /* there are 2^128 - 1 paths or more; `count` is then 2^128 - 1 */
};

/* From a node to itself there is one path, of 0 hops. */
MUST_CHECK enum err shortest_paths_count(struct shortest_paths *paths, const struct graph *graph,
                                         uint32_t from, uint32_t to, struct why *why);
