#pragma once
/* paths: shortest paths between all routers of a network, by the costs of its links, and
 * whether a change of a cost can change them. Pure.
 *
 * A link goes one way; a cost of 0 says that there is none. */

#include <stdbool.h>
#include <stdint.h>

#define PATHS_NODES_MAX 32
#define PATHS_FAR       UINT32_MAX /* the distance where no path leads */

struct paths {
    uint32_t count;
    uint32_t costs[PATHS_NODES_MAX][PATHS_NODES_MAX];
    uint32_t distances[PATHS_NODES_MAX][PATHS_NODES_MAX];
    uint8_t next[PATHS_NODES_MAX][PATHS_NODES_MAX]; /* where a goes next on its way to b */
};

/* Fills distances and next, by Dijkstra's way from each router. */
void paths_compute(struct paths *paths);

/* Is the link part of a shortest path? Exactly if it is one itself. */
static inline bool paths_uses(const struct paths *paths, uint32_t from, uint32_t to)
{
    return paths->costs[from][to] && paths->costs[from][to] == paths->distances[from][to];
}

/* Can a shortest path be another one, or another in length, if this link costs so much? */
bool paths_can_change(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost);

/* The same by the paper's rule: a used link that costs more, an unused one that costs less. */
bool paths_can_change_printed(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost);

/* Do the next hops lead everywhere on shortest paths, if the links cost what they do in
 * `now`, whose distances are computed? */
bool paths_are_shortest(const struct paths *paths, const struct paths *now);

/* A hub (router 0) with a link of cost `spoke` to and from each other router, and these in a
 * ring with links of cost `rim`. At least 4. */
void paths_wheel(struct paths *paths, uint32_t count, uint32_t spoke, uint32_t rim);
