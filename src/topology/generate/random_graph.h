#pragma once
/* random_graph: random cables between nodes that have so many ports for them.
 *
 * The construction of the Jellyfish paper (Singla et al., NSDI 2012, section
 * 3): a random pair of nodes that have free ports and are not neighbours is
 * joined until there is no such pair; then random cables are broken to use up
 * what is left. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

struct random_graph {
    const uint32_t *nodes; /* those that take part, borrowed */
    uint32_t node_count;
    const uint32_t *ports; /* per node of the wiring: how many cables it gets */
    const uint32_t *group; /* NULL, or per node of the wiring: only nodes of different groups
                            * are joined */
    uint64_t seed;
    uint64_t stream; /* this and the RANDOM_GRAPH_STREAMS - 1 after it are used */
};

#define RANDOM_GRAPH_STREAMS 32

/* Plugs the cables, at most one between two nodes, which the wiring must not
 * have joined already. All ports are used but one if their sum is odd. *done
 * tells whether that was possible: without groups the answer is exact, with
 * groups a no means that a number of attempts failed. After a no, the wiring
 * is as it was. The result need not be connected. */
MUST_CHECK enum err random_graph_plug(struct wiring *wiring, const struct random_graph *want,
                                      bool *done, struct why *why);
