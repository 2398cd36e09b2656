#pragma once
/* yen: the k shortest loopless paths by Yen's algorithm (Management Science 17, 1971) with Lawler's
 * improvement (18, 1972). Its work is bounded on every graph: at most k * n breadth-first searches.
 * k_shortest uses it if its own search takes too long, and tests compare both. */

#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "routing/paths/path_set.h"
#include "topology/graph.h"

/* Working memory for searches on one graph; owned, one per thread. */
struct yen;

MUST_CHECK enum err yen_open(struct yen **yen, const struct graph *graph, struct why *why);
void yen_close(struct yen *yen);

/* Gives the last pair of `set` min(k, number of paths of at most hop_max hops) paths, shortest
 * first. Random draws choose among paths of equal length. The nodes differ. */
MUST_CHECK enum err yen_find(struct yen *yen, uint32_t from, uint32_t to, uint32_t k,
                             uint32_t hop_max, struct rng *rng, struct path_set *set,
                             struct why *why);
