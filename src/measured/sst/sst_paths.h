#pragma once
/* paths: shortest paths between all routers of a network, by the costs of its links, and
 * whether a change of a cost can change them. Pure.
 *
 * Links are directed; a cost of 0 means that there is no link. */

#include <stdbool.h>
#include <stdint.h>

#define PATHS_NODES_MAX 32
#define PATHS_FAR       UINT32_MAX /* the distance if there is no path */

struct paths {
    uint32_t count;
    uint32_t costs[PATHS_NODES_MAX][PATHS_NODES_MAX];
    uint32_t distances[PATHS_NODES_MAX][PATHS_NODES_MAX];
    uint8_t next[PATHS_NODES_MAX][PATHS_NODES_MAX]; /* [a][b]: next hop of a towards b */
};

/* Computes distances and next with Dijkstra's algorithm from each router. */
void paths_compute(struct paths *paths);

/* Tells whether the link is part of a shortest path. This is so exactly if the link is a shortest
 * path between its own ends. */
static inline bool paths_uses(const struct paths *paths, uint32_t from, uint32_t to)
{
    return paths->costs[from][to] && paths->costs[from][to] == paths->distances[from][to];
}

/* Tells whether a shortest path or its length can change if the link gets this cost. */
bool paths_can_change(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost);

/* The same by the rule printed in the paper: a used link gets dearer, or an unused one cheaper. */
bool paths_can_change_printed(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost);

/* Tells whether the next hops of `paths` still give shortest paths with the costs of `now`, whose
 * distances are computed. */
bool paths_are_shortest(const struct paths *paths, const struct paths *now);

/* Makes a hub (router 0) with links of cost `spoke` to and from each other router, and the other
 * routers in a ring with links of cost `rim`. `count` is at least 4. */
void paths_wheel(struct paths *paths, uint32_t count, uint32_t spoke, uint32_t rim);
