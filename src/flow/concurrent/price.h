#pragma once
/* price: shortest paths under weights, for every demand of a traffic.
 *
 * They prove an upper bound; those that a spread does not have yet are the paths to add to it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/heap.h"
#include "flow/concurrent/spread.h"
#include "topology/graph.h"

struct price {
    const struct graph *graph;     /* borrowed */
    const struct traffic *traffic; /* borrowed */
    struct flow_spread next;       /* the spread's paths while they are rewritten */

    /* Dijkstra's algorithm; owned. */
    double *slot_weight; /* per slot of the graph: the weight of its channel */
    double *distance;    /* per node */
    uint32_t *parent;    /* per node: the channel through which it was reached */
    struct heap heap;    /* nodes that are reached but not final, nearest first */
    bool *wanted;        /* per node: does a demand of this source end here? */
    uint32_t *route;     /* one path */
};

MUST_CHECK enum err price_open(struct price *price, const struct graph *graph,
                               const struct traffic *traffic, struct why *why);
void price_close(struct price *price);

/* One round: *total is the sum of amount times distance over all demands, or infinite if a demand
 * has no path; then *apart is its number and nothing changes. The spread gets every shortest path
 * that is shorter than those it has, with a rate of 0 (the first path of a demand gets all its
 * traffic), and loses paths without traffic that are much longer. Its loads do not change. */
MUST_CHECK enum err price_round(struct price *price, struct flow_spread *spread,
                                const double *weight, double *total, size_t *apart,
                                struct why *why);

/* The same if only the spread's own paths are allowed: the paths do not change. */
double price_given(const struct flow_spread *spread, const double *weight);

/* The approximate number of steps of a round; a sweep of the balance takes one step for every hop
 * of every path. */
double price_effort(const struct price *price);
