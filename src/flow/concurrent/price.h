#pragma once
/* price: shortest paths under weights, for every demand of a traffic.
 *
 * They prove an upper bound, and those that a spread does not have yet are the
 * paths it should have. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/heap.h"
#include "flow/concurrent/spread.h"
#include "topology/graph.h"

struct price {
    const struct graph *graph;     /* borrowed */
    const struct traffic *traffic; /* borrowed */
    struct flow_spread next;       /* the spread's paths, while they are written anew */

    /* Dijkstra's algorithm; owned. */
    double *slot_weight; /* per slot of the graph: the weight of its channel */
    double *distance;    /* per node */
    uint32_t *parent;    /* per node: the channel it was reached by */
    struct heap heap;    /* nodes reached and not settled, nearest first */
    bool *wanted;        /* per node: does a demand of this source end here? */
    uint32_t *route;     /* one path */
};

MUST_CHECK enum err price_open(struct price *price, const struct graph *graph,
                               const struct traffic *traffic, struct why *why);
void price_close(struct price *price);

/* One round: *total is the sum of amount times distance over all demands, or
 * infinite if one has no path; then *apart is its number and nothing changes.
 * The spread gets every shortest path that is shorter than those it has, with
 * a rate of 0 (its first, with all), and loses those without traffic that are
 * much longer. Its loads stay. */
MUST_CHECK enum err price_round(struct price *price, struct flow_spread *spread,
                                const double *weight, double *total, size_t *apart,
                                struct why *why);

/* The same where a spread's paths are all that are allowed: none changes. */
double price_given(const struct flow_spread *spread, const double *weight);

/* About how many steps a round takes; a sweep of the balance takes one for
 * every hop of every path. */
double price_effort(const struct price *price);
