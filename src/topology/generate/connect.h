#pragma once
/* connect: joins the parts of a disconnected random wiring into one network. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "topology/wiring.h"

/* Joins all parts by crossing cables, so that every node keeps its number of cables and no two
 * nodes get a second cable. There is one exception: a part that is a single node with a free port
 * takes a port from another node, and the free port moves there. With groups (NULL: none), a cable
 * inside a group stays inside it, and a cable between groups stays between groups. *connected says
 * whether the result is connected: without groups it is if there are enough cables and every node
 * has a port. */
MUST_CHECK enum err connect_parts(struct wiring *wiring, const uint32_t *group, struct rng *rng,
                                  bool *connected, struct why *why);
