#pragma once
/* degree_sequence: which lists of degrees a simple graph can have, and one
 * graph that has them. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* Is there a simple graph in which vertex i has degree[i] neighbours? With an
 * odd sum: is there one that leaves a single port free? */
MUST_CHECK enum err degree_sequence_possible(const uint32_t *degree, uint32_t count, bool *possible,
                                             struct why *why);

/* Writes the links of such a graph, ends without ports; the sequence must be
 * possible, `links` has room for half the sum. With an odd sum a vertex of
 * the highest degree keeps a port. Returns their number through link_count. */
MUST_CHECK enum err degree_sequence_links(const uint32_t *degree, uint32_t count,
                                          struct link *links, uint32_t *link_count,
                                          struct why *why);
