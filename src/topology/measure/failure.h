#pragma once
/* failure: the rest of a topology after a share of it has failed. */

#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* Removes round(share * count) of the links and of the nodes, chosen by the seed. With the same
 * seed, a higher share removes everything that a lower share removes, and more. Failed nodes
 * disappear with their servers. The remaining nodes are renumbered and keep their old number or
 * name as their name. Shares are from 0 to 1. The caller frees `out` with topology_fini. */
MUST_CHECK enum err failure_apply(struct topology *out, const struct topology *topology,
                                  double link_share, double node_share, uint64_t seed,
                                  struct why *why);
