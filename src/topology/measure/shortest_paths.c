/* shortest_paths: one breadth-first search. The number of paths to a node is the sum over its
 * neighbours one level nearer, and these are complete before the first node of its own level is
 * taken from the queue. */
#include "topology/measure/shortest_paths.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define COUNT_MAX (~(uint128)0)

static uint128 sum_saturating(uint128 a, uint128 b)
{
    return a > COUNT_MAX - b ? COUNT_MAX : a + b;
}

/* Stops at the level of `to`: deeper levels do not matter. */
static void search(const struct graph *graph, uint32_t from, uint32_t to, struct bfs *bfs,
                   uint128 *count)
{
    bfs_start(bfs, from);
    count[from] = 1;
    for (uint32_t v; bfs_take(bfs, &v) && bfs->level[v] < bfs->level[to];)
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            bfs_visit(bfs, v, w);
            if (bfs->level[w] == bfs->level[v] + 1)
                count[w] = sum_saturating(count[w], count[v]);
        }
}

enum err shortest_paths_count(struct shortest_paths *paths, const struct graph *graph,
                              uint32_t from, uint32_t to, struct why *why)
{
    assert(from < graph->node_count && to < graph->node_count);
    *paths = (struct shortest_paths){0};
    struct bfs bfs;
    bool room = bfs_init(&bfs, graph->node_count);
    uint128 *count = array_new(graph->node_count, sizeof *count);
    enum err err = OK;
    if (room && count) {
        search(graph, from, to, &bfs, count);
        paths->connected = bfs_seen(&bfs, to);
        paths->distance = paths->connected ? bfs.level[to] : 0;
        paths->count = count[to];
        paths->saturated = count[to] == COUNT_MAX;
    } else {
        err = why_memory(why);
    }
    bfs_fini(&bfs);
    free(count);
    return err;
}
