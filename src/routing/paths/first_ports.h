#pragma once
/* first_ports: the ports of one node on which the shortest paths to every other node begin. A node
 * looks this up for each packet under link-state routing.
 *
 * A set has a bit for every link of the node, in the order of their ports: bit i is link i of the
 * node's adjacency, graph->first[node] + i. */

#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "topology/graph.h"

struct first_ports {
    uint32_t word_count; /* words per set, at least 1 */
    uint64_t *sets;      /* owned; node_count sets; empty: the node itself, or unreachable */
};

/* One breadth-first search. */
MUST_CHECK enum err first_ports_find(struct first_ports *ports, const struct graph *graph,
                                     uint32_t node, struct why *why);
void first_ports_fini(struct first_ports *ports);

/* The number of words that a set of a node's ports takes. */
static inline uint32_t first_ports_words(const struct graph *graph, uint32_t node)
{
    uint32_t degree = graph_degree(graph, node);
    return degree ? (uint32_t)bitset_words(degree) : 1;
}

static inline const uint64_t *first_ports_set(const struct first_ports *ports, uint32_t to)
{
    return ports->sets + (size_t)to * ports->word_count;
}
