#pragma once
/* exhaustive: the smallest halving of a small graph, by enumerating all halvings. */

#include <stdint.h>

#include "flow/bisection/halving.h"
#include "topology/graph.h"

#define EXHAUSTIVE_NODE_MAX 22u

/* For 1 to EXHAUSTIVE_NODE_MAX nodes: the fewest cables that any halving cuts, and the sides of
 * such a halving. */
uint64_t exhaustive_find(const struct graph *graph, const struct halving *halving, uint8_t *side);
