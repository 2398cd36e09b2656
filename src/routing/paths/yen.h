#pragma once
/* yen: the k shortest loopless paths by Yen's algorithm (Management Science
 * 17, 1971) with Lawler's improvement (18, 1972). Its work is bounded on every
 * graph: at most k * n breadth-first searches. k_shortest turns to it where
 * its own search does not come to an end soon, and is held against it. */

#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "routing/paths/path_set.h"
#include "topology/graph.h"

/* Working memory for searches on one graph; owned, one per thread. */
struct yen;

MUST_CHECK enum err yen_open(struct yen **yen, const struct graph *graph, struct why *why);
void yen_close(struct yen *yen);

/* Gives the last pair of `set` min(k, all there are of at most hop_max hops)
 * paths, shortest first. The draws decide which of equal length. The nodes
 * differ. */
MUST_CHECK enum err yen_find(struct yen *yen, uint32_t from, uint32_t to, uint32_t k,
                             uint32_t hop_max, struct rng *rng, struct path_set *set,
                             struct why *why);
