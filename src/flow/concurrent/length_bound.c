/* length_bound: one breadth-first search per source that has many demands; for
 * the few of a permutation, searches from both ends, which in a network of
 * short paths see a small part of it. */
#include "flow/concurrent/length_bound.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum { FEW = 4 }; /* demands of one source that are searched for one by one */

/* A search that grows from one node. */
struct side {
    uint32_t *queue; /* owned; nodes in the order they were met */
    uint32_t *depth; /* owned; per node; HOPS_NONE: not met */
    uint32_t level;  /* its first node in the queue that is not yet passed ... */
    uint32_t count;  /* ... and how many were met */
};

static bool side_open(struct side *side, uint32_t nodes)
{
    side->queue = array_new(nodes, sizeof *side->queue);
    side->depth = array_new(nodes, sizeof *side->depth);
    for (uint32_t v = 0; side->depth && v < nodes; v++)
        side->depth[v] = HOPS_NONE;
    return side->queue && side->depth;
}

static void side_close(struct side *side)
{
    free(side->queue);
    free(side->depth);
}

static void side_start(struct side *side, uint32_t node)
{
    side->queue[0] = node;
    side->depth[node] = 0;
    side->level = 0;
    side->count = 1;
}

/* Only what was met is cleared: most searches are short. */
static void side_clear(struct side *side)
{
    for (uint32_t i = 0; i < side->count; i++)
        side->depth[side->queue[i]] = HOPS_NONE;
    side->count = 0;
}

/* Passes one level on. Returns the length of the shortest path that it closes
 * with the other side, or HOPS_NONE. */
static uint32_t side_grow(struct side *side, const struct side *other, const struct graph *graph)
{
    uint32_t end = side->count, best = HOPS_NONE;
    for (; side->level < end; side->level++) {
        uint32_t at = side->queue[side->level], next_depth = side->depth[at] + 1;
        for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++) {
            uint32_t next = graph->to[slot];
            if (side->depth[next] != HOPS_NONE)
                continue;
            side->depth[next] = next_depth;
            side->queue[side->count++] = next;
            if (other && other->depth[next] != HOPS_NONE && next_depth + other->depth[next] < best)
                best = next_depth + other->depth[next];
        }
    }
    return best;
}

/* The side with fewer nodes to pass grows, until they meet. When they do, all
 * paths shorter than what they have both passed were ruled out before. */
static uint32_t hops_between(struct side sides[2], const struct graph *graph, uint32_t from,
                             uint32_t to)
{
    uint32_t hops = HOPS_NONE;
    side_start(&sides[0], from);
    side_start(&sides[1], to);
    while (hops == HOPS_NONE) {
        uint32_t ahead[2] = {sides[0].count - sides[0].level, sides[1].count - sides[1].level};
        if (ahead[0] == 0 || ahead[1] == 0)
            break;
        int grows = ahead[1] < ahead[0];
        hops = side_grow(&sides[grows], &sides[!grows], graph);
    }
    side_clear(&sides[0]);
    side_clear(&sides[1]);
    return hops;
}

static void hops_from(struct side *side, const struct graph *graph, const struct demand *demands,
                      size_t count, uint32_t *hops)
{
    side_start(side, demands[0].from);
    while (side->level < side->count)
        side_grow(side, NULL, graph);
    for (size_t i = 0; i < count; i++)
        hops[i] = side->depth[demands[i].to];
    side_clear(side);
}

enum err length_bound_hops(const struct graph *graph, const struct demand *demands, size_t count,
                           uint32_t *hops, struct why *why)
{
    struct side sides[2] = {{0}, {0}};
    bool ready = side_open(&sides[0], graph->node_count) && side_open(&sides[1], graph->node_count);
    for (size_t i = 0, end; ready && i < count; i = end) {
        for (end = i + 1; end < count && demands[end].from == demands[i].from;)
            end++;
        if (end - i > FEW)
            hops_from(&sides[0], graph, demands + i, end - i, hops + i);
        else
            for (size_t k = i; k < end; k++)
                hops[k] = hops_between(sides, graph, demands[k].from, demands[k].to);
    }
    side_close(&sides[0]);
    side_close(&sides[1]);
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
