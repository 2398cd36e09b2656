#pragma once
/* difference: which cables to unplug and plug to turn one topology into another.
 *
 * Nodes are matched by name, or by number if they have no names. The nodes of a difference are
 * those of the first topology, in its order, then those that only the second topology has. Cables
 * in the plan use these numbers. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

struct difference {
    uint32_t node_count;
    uint32_t before_count;  /* nodes below this number are those of the first topology */
    uint32_t *after;        /* per node: its number in the second topology, or NODE_NONE */
    uint32_t added_count;   /* nodes that only the second topology has */
    uint32_t removed_count; /* nodes that only the first topology has */
    uint32_t parts_before;  /* connected components of the first network */
    uint32_t parts_after;   /* connected components of the second network */
    struct rewire_plan plan;
};

/* Refuses topologies that have no node in common, or of which only one is direct. */
MUST_CHECK enum err difference_make(struct difference *difference, const struct topology *before,
                                    const struct topology *after, struct why *why);
void difference_fini(struct difference *difference);
