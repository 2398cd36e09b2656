#pragma once
/* connectivity: how many links, or nodes, must fail before two of the remaining nodes can no longer
 * reach each other. Exact. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/graph.h"

/* The number of connected components: 1 if all nodes reach each other. */
MUST_CHECK enum err connectivity_components(const struct graph *graph, uint32_t *count,
                                            struct why *why);

/* The smallest number of links whose removal disconnects the graph; parallel links count one each.
 * 0 if the graph is disconnected or has fewer than two nodes. */
MUST_CHECK enum err connectivity_edge(const struct graph *graph, struct observer progress,
                                      uint32_t *connectivity, struct why *why);

/* The smallest number of nodes whose removal leaves a disconnected graph or a single node: n - 1 if
 * all nodes are neighbours. 0 as above. */
MUST_CHECK enum err connectivity_vertex(const struct graph *graph, struct observer progress,
                                        uint32_t *connectivity, struct why *why);
