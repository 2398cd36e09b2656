#pragma once
/* connectivity: how many links, or nodes, must fail before some two nodes of
 * those left can no longer reach each other. Exact. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "topology/graph.h"

/* How many parts the graph falls into: 1 if all nodes reach each other. */
MUST_CHECK enum err connectivity_components(const struct graph *graph, uint32_t *count,
                                            struct why *why);

/* The fewest links whose loss disconnects the graph; parallel links count one
 * each. 0 if it is disconnected, or has fewer than two nodes. */
MUST_CHECK enum err connectivity_edge(const struct graph *graph, struct observer progress,
                                      uint32_t *connectivity, struct why *why);

/* The fewest nodes whose loss leaves a disconnected graph, or a single node:
 * n - 1 where all are neighbours. 0 as above. */
MUST_CHECK enum err connectivity_vertex(const struct graph *graph, struct observer progress,
                                        uint32_t *connectivity, struct why *why);
