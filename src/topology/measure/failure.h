#pragma once
/* failure: what is left of a topology after a share of its links and nodes has failed. */

#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* Makes a copy without round(link_share * links) of the links and round(node_share * nodes) of the
 * nodes, which the seed chooses. With the same seed, a higher share removes everything that a lower
 * share removes, and more. A failed node disappears with its servers. The remaining nodes get new
 * numbers; the name of a node is its old name, or its old number if it had none. Shares are from 0
 * to 1. The caller frees `out` with topology_fini. */
MUST_CHECK enum err failure_apply(struct topology *out, const struct topology *topology,
                                  double link_share, double node_share, uint64_t seed,
                                  struct why *why);
