#pragma once
/* difference: what to unplug and plug to turn one topology into another.
 *
 * Nodes are matched by their names (numbers if they have none). The nodes of a
 * difference are those of the first topology, in its order, then those that
 * only the second one has; cables in the plan name them so. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

struct difference {
    uint32_t node_count;
    uint32_t before_count;  /* nodes below are those of the first topology */
    uint32_t *after;        /* per node: its number in the second topology, or NODE_NONE */
    uint32_t added_count;   /* only in the second */
    uint32_t removed_count; /* only in the first */
    uint32_t parts_before;  /* pieces the first network is in */
    uint32_t parts_after;   /* pieces the second is in */
    struct rewire_plan plan;
};

/* Refuses topologies that share no node, or of which only one is direct. */
MUST_CHECK enum err difference_make(struct difference *difference, const struct topology *before,
                                    const struct topology *after, struct why *why);
void difference_fini(struct difference *difference);
