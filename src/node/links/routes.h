#pragma once
/* routes: the distance of every server, and the ports by which the shortest paths to it begin.
 *
 * There are two graphs on the same servers: links that are *near* (both ends receive each other's
 * hellos), and of those the links that are *up* (every server knows them; link_state.h). A server
 * that is reachable over links that are up is reached over these links only. Near links serve for
 * the other servers: over them the servers on the two sides of a coming link exchange messages.
 *
 * Pure; memory from the node's arena, 13 bytes per server. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "node/plan.h"

#define HOPS_NEVER UINT16_MAX

struct routes {
    const struct plan *plan; /* borrowed */
    node_id self;
    uint16_t *near_hops; /* HOPS_NEVER: unreachable */
    uint16_t *up_hops;
    port_set *ports;    /* the first ports of all shortest paths; none for itself */
    uint64_t *near_set; /* a bit for each reachable server, itself included */
    uint64_t *up_set;
    uint32_t near_count, up_count; /* bits in them */
    uint16_t *order; /* scratch of the search; one entry more than there are servers */
};

MUST_CHECK bool routes_init(struct routes *routes, const struct plan *plan, node_id self,
                            struct arena *arena);

/* Recomputes the routes: near[v] and up[v] have a bit for each port of v whose link is near (up) at
 * both ends. `equal`: the two graphs are the same, and one search serves both. */
void routes_find(struct routes *routes, const port_set *near, const port_set *up, bool equal);
