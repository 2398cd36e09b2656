#pragma once
/* distance: the number of pairs of nodes, and of servers, at each distance.
 *
 * A tally is a sum over ranges of sources, so that a caller can spread the ranges over threads and
 * show progress; the sum does not depend on how the ranges are chosen. No matrix is ever stored. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* The number of sources per search: ranges that are multiples of it waste no work. */
#define DISTANCE_BATCH 512u

struct distance_tally {
    uint32_t length; /* used entries below: longest distance seen, plus one */
    size_t nodes_capacity;
    size_t servers_capacity;
    uint64_t *nodes;      /* [d]: ordered pairs of distinct nodes d hops apart */
    uint64_t *servers;    /* [d]: ordered pairs of distinct servers whose nodes are d apart */
    uint64_t nodes_apart; /* ordered pairs with no path */
    uint64_t servers_apart;
};

void distance_tally_fini(struct distance_tally *tally);

/* Adds all pairs whose source is one of the nodes first .. first + count - 1. */
MUST_CHECK enum err distance_tally_add(struct distance_tally *tally,
                                       const struct topology *topology, uint32_t first,
                                       uint32_t count, struct why *why);
/* The number of sources that need to be searched: one for a network that looks the same from every
 * node (a torus, a NovaCube of even sizes), else all nodes. With one source, multiply the tally by
 * the number of nodes. */
uint32_t distance_sources(const struct topology *topology);
void distance_tally_multiply(struct distance_tally *tally, uint64_t factor);

MUST_CHECK enum err distance_tally_merge(struct distance_tally *into,
                                         const struct distance_tally *from, struct why *why);

/* Diameters and means are taken over the pairs that have a path. If there is no such pair, the
 * diameter is 0 and the mean is NaN. The length of a path between servers of a switched network
 * includes the two cables between the servers and their switches. */
uint32_t distance_diameter(const struct distance_tally *tally);
uint32_t distance_server_diameter(const struct distance_tally *tally,
                                  const struct topology *topology);
double distance_mean(const struct distance_tally *tally);
double distance_server_mean(const struct distance_tally *tally, const struct topology *topology);
