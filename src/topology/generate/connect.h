#pragma once
/* connect: makes one network of the parts a random wiring may fall into. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "topology/wiring.h"

/* Joins all parts by crossing cables, so that every node keeps its number of
 * cables and no two nodes get a second one. Only a part that is a single node
 * with a free port costs another node a port: the free port moves there. With
 * groups (NULL: none), a cable inside a group stays inside it and one between
 * groups stays between groups. *connected tells whether it came out whole:
 * without groups it does if there are enough cables and no node without ports. */
MUST_CHECK enum err connect_parts(struct wiring *wiring, const uint32_t *group, struct rng *rng,
                                  bool *connected, struct why *why);
