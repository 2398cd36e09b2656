#pragma once
/* routes: how far every server is and by which ports the way to it begins.
 *
 * There are two graphs on the same servers: links that are *near* (both ends hear each other), and
 * of those the ones that are *up* (every server knows them; link_state.h). Whoever can be reached
 * over links that are up is reached over those only; the near ones serve for the rest, which is
 * what servers on the two sides of a link that is coming up have to say to each other.
 *
 * Pure; memory from the node's arena, 13 bytes a server. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "node/plan.h"

#define HOPS_NEVER UINT16_MAX

struct routes {
    const struct plan *plan; /* borrowed */
    node_id self;
    uint16_t *near_hops; /* HOPS_NEVER: out of reach */
    uint16_t *up_hops;
    port_set *ports;    /* the first ports of all shortest ways; none to itself */
    uint64_t *near_set; /* a bit for each server within reach, itself too */
    uint64_t *up_set;
    uint32_t near_count, up_count; /* bits in them */
    uint16_t *order;               /* scratch of the search; one more than there are servers */
};

MUST_CHECK bool routes_init(struct routes *routes, const struct plan *plan, node_id self,
                            struct arena *arena);

/* Anew from the links: near[v] and up[v] have a bit for each port of v whose link is near (up) at
 * both ends. `equal`: the two are the same, and one search does for both. */
void routes_find(struct routes *routes, const port_set *near, const port_set *up, bool equal);
