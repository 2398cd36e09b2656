#pragma once
/* degree_sequence: which lists of degrees a simple graph can have, and one
 * graph that has them. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* Is there a simple graph in which vertex i has degree[i] neighbours? If the sum is odd: is there
 * one that leaves a single port free? */
MUST_CHECK enum err degree_sequence_possible(const uint32_t *degree, uint32_t count, bool *possible,
                                             struct why *why);

/* Writes the links of such a graph, without ports at their ends. The sequence must be possible, and
 * `links` must have room for half the sum. If the sum is odd, one vertex of the highest degree
 * keeps a free port. *link_count receives the number of links. */
MUST_CHECK enum err degree_sequence_links(const uint32_t *degree, uint32_t count,
                                          struct link *links, uint32_t *link_count,
                                          struct why *why);
