/* length_bound: one breadth-first search per source that has many demands. For the few demands of a
 * permutation, searches from both ends, which visit only a small part of a network of short
 * paths. */
#include "flow/concurrent/length_bound.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

static_assert(HOPS_NONE == BFS_UNSEEN, "a level is returned unchanged");

enum { FEW = 4 }; /* demands of one source that are searched for individually */

/* Advances the search by one level. Returns the length of the shortest path that it closes with the
 * other side, or HOPS_NONE. */
static uint32_t side_grow(struct bfs *side, const struct bfs *other, const struct graph *graph)
{
    uint32_t end = side->count, best = HOPS_NONE;
    for (uint32_t at; side->taken < end && bfs_take(side, &at);)
        for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++) {
            uint32_t next = graph->to[slot];
            if (!bfs_visit(side, at, next) || !bfs_seen(other, next))
                continue;
            uint32_t hops = side->level[next] + other->level[next];
            best = hops < best ? hops : best;
        }
    return best;
}

/* The side with fewer nodes to expand grows, until the sides meet. They had not met one level
 * earlier, so no path is shorter than the sum of both depths. */
static uint32_t hops_between(struct bfs sides[2], const struct graph *graph, uint32_t from,
                             uint32_t to)
{
    uint32_t hops = HOPS_NONE;
    bfs_start(&sides[0], from);
    bfs_start(&sides[1], to);
    while (hops == HOPS_NONE) {
        uint32_t ahead[2] = {sides[0].count - sides[0].taken, sides[1].count - sides[1].taken};
        if (ahead[0] == 0 || ahead[1] == 0)
            break;
        int grows = ahead[1] < ahead[0];
        hops = side_grow(&sides[grows], &sides[!grows], graph);
    }
    bfs_clear(&sides[0]);
    bfs_clear(&sides[1]);
    return hops;
}

static void hops_from(struct bfs *side, const struct graph *graph, const struct demand *demands,
                      size_t count, uint32_t *hops)
{
    bfs_start(side, demands[0].from);
    graph_search(graph, side);
    for (size_t i = 0; i < count; i++)
        hops[i] = side->level[demands[i].to];
    bfs_clear(side);
}

enum err length_bound_hops(const struct graph *graph, const struct demand *demands, size_t count,
                           uint32_t *hops, struct why *why)
{
    struct bfs sides[2] = {{0}, {0}};
    bool ready = bfs_init(&sides[0], graph->node_count) && bfs_init(&sides[1], graph->node_count);
    for (size_t i = 0, end; ready && i < count; i = end) {
        for (end = i + 1; end < count && demands[end].from == demands[i].from;)
            end++;
        if (end - i > FEW)
            hops_from(&sides[0], graph, demands + i, end - i, hops + i);
        else
            for (size_t k = i; k < end; k++)
                hops[k] = hops_between(sides, graph, demands[k].from, demands[k].to);
    }
    bfs_fini(&sides[0]);
    bfs_fini(&sides[1]);
    return ready ? OK : why_memory(why);
}

double length_bound_sum(const struct demand *demands, size_t count, const uint32_t *hops)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert(hops[i] != HOPS_NONE);
        sum += demands[i].amount * hops[i];
    }
    return sum;
}

double length_bound_all(const struct distance_tally *tally)
{
    double sum = 0;
    for (uint32_t d = 0; d < tally->length; d++)
        sum += (double)tally->servers[d] * d;
    return sum;
}

double length_bound(const struct graph *graph, double sum)
{
    return sum > 0 ? 2.0 * graph->link_count / sum : INFINITY;
}
