#pragma once
/* traffic_impl: what the files of traffic share. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

/* A label per node, equal where a path leads from one to the other; the caller
 * frees it. */
MUST_CHECK enum err traffic_label_parts(const struct graph *graph, uint32_t **labels,
                                        struct why *why);
