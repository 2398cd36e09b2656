#pragma once
/* random_graph: random cables between nodes, each of which has a given number of ports for them.
 *
 * This is the construction of the Jellyfish paper (Singla et al., NSDI 2012, section 3): join a
 * random pair of nodes that have free ports and are not neighbours, until there is no such pair;
 * then break random cables to use the remaining ports. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

struct random_graph {
    const uint32_t *nodes; /* the nodes that take part, borrowed */
    uint32_t node_count;
    const uint32_t *ports; /* per node of the wiring: how many cables it gets */
    const uint32_t *group; /* NULL, or per node of the wiring: only nodes of different groups
                            * are joined */
    uint64_t seed;
    uint64_t stream; /* this and the RANDOM_GRAPH_STREAMS - 1 after it are used */
};

#define RANDOM_GRAPH_STREAMS 32

/* Plugs the cables, at most one between two nodes; the wiring must not join these nodes already.
 * All ports are used, except one if their sum is odd. *done says whether that was possible. Without
 * groups the answer is exact; with groups, false means that a number of attempts failed. If *done
 * is false, the wiring is unchanged. The result need not be connected. */
MUST_CHECK enum err random_graph_plug(struct wiring *wiring, const struct random_graph *want,
                                      bool *done, struct why *why);
