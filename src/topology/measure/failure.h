#pragma once
/* failure: what is left of a topology when a share of it has failed. */

#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* Removes round(share * count) of the links and of the nodes, picked by the
 * seed. With the same seed a higher share takes all that a lower one takes,
 * and more. Failed nodes are gone with their servers; the survivors are
 * numbered anew and keep their old number or name as their name. Shares are
 * from 0 to 1. `out` is the caller's to topology_fini. */
MUST_CHECK enum err failure_apply(struct topology *out, const struct topology *topology,
                                  double link_share, double node_share, uint64_t seed,
                                  struct why *why);
