#pragma once
/* connectivity: how many links, or nodes, must fail before some two nodes of
 * those left can no longer reach each other. Exact. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* Told now and then how much of the work is done; `done` is NULL for a caller
 * that does not care. */
struct connectivity_progress {
    void (*done)(void *context, uint64_t done, uint64_t total);
    void *context;
};

/* How many parts the graph falls into: 1 if all nodes reach each other. */
MUST_CHECK enum err connectivity_components(const struct graph *graph, uint32_t *count,
                                            struct why *why);

/* The fewest links whose loss disconnects the graph; parallel links count one
 * each. 0 if it is disconnected, or has fewer than two nodes. */
MUST_CHECK enum err connectivity_edge(const struct graph *graph,
                                      struct connectivity_progress progress, uint32_t *connectivity,
                                      struct why *why);

/* The fewest nodes whose loss leaves a disconnected graph, or a single node:
 * n - 1 where all are neighbours. 0 as above. */
MUST_CHECK enum err connectivity_vertex(const struct graph *graph,
                                        struct connectivity_progress progress,
                                        uint32_t *connectivity, struct why *why);
