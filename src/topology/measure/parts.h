#pragma once
/* parts: which nodes reach each other. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* Labels each node with the lowest node that it reaches: two nodes reach each other if their labels
 * are equal. The caller frees *labels; on failure it is NULL. */
MUST_CHECK enum err parts_label(const struct graph *graph, uint32_t **labels, struct why *why);
