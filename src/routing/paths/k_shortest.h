#pragma once
/* k_shortest: the k shortest loopless paths between two nodes, and the paths of n-way ECMP, which
 * are n of the shortest paths only.
 *
 * The seed and the pair break ties, not port numbers: a Jellyfish node's ports increase with its
 * neighbours' ids. Paths that use different cables of a parallel pair are different paths. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/graph.h"

/* Working memory for searches on one graph; owned, one per thread. */
struct k_shortest;

MUST_CHECK enum err k_shortest_open(struct k_shortest **search, const struct graph *graph,
                                    struct why *why);
void k_shortest_close(struct k_shortest *search);

enum k_shortest_rule {
    K_SHORTEST_ANY,   /* of any length */
    K_SHORTEST_EQUAL, /* of the least length only: n-way ECMP */
};

/* Begins a pair in `set` and gives it min(k, number of paths) paths, shortest first; none if the
 * nodes are not connected. Consecutive searches with the same `to` share their distances. */
MUST_CHECK enum err k_shortest_find(struct k_shortest *search, uint32_t from, uint32_t to,
                                    uint32_t k, enum k_shortest_rule rule, uint64_t seed,
                                    struct path_set *set, struct why *why);

/* Finds paths for every demand of a traffic, in its order. Refuses a demand without a path and
 * names it. */
MUST_CHECK enum err k_shortest_traffic(struct path_set *set, const struct topology *topology,
                                       const struct traffic *traffic, uint32_t k,
                                       enum k_shortest_rule rule, uint64_t seed, struct why *why);
