/* shortest_paths: one breadth-first search. A node's paths are the sum of the
 * paths of its neighbours one level nearer, and all of those are complete
 * before the first node of its own level is taken from the queue. */
#include "topology/measure/shortest_paths.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define LEVEL_NONE UINT32_MAX
#define COUNT_MAX  (~(uint128)0)

static uint128 sum_saturating(uint128 a, uint128 b)
{
    return a > COUNT_MAX - b ? COUNT_MAX : a + b;
}

/* Stops at the level of `to`: nothing beyond it matters. */
static void search(const struct graph *graph, uint32_t from, uint32_t to, uint32_t *level,
                   uint128 *count, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        level[v] = LEVEL_NONE;
    level[from] = 0;
    count[from] = 1;
    queue[tail++] = from;
    while (head < tail && level[queue[head]] < level[to]) {
        uint32_t v = queue[head++];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            if (level[w] == LEVEL_NONE) {
                level[w] = level[v] + 1;
                queue[tail++] = w;
            }
            if (level[w] == level[v] + 1)
                count[w] = sum_saturating(count[w], count[v]);
        }
    }
}

enum err shortest_paths_count(struct shortest_paths *paths, const struct graph *graph,
                              uint32_t from, uint32_t to, struct why *why)
{
    assert(from < graph->node_count && to < graph->node_count);
    *paths = (struct shortest_paths){0};
    uint32_t *level = array_new(graph->node_count, sizeof *level);
    uint128 *count = array_new(graph->node_count, sizeof *count);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    enum err err = OK;
    if (level && count && queue) {
        search(graph, from, to, level, count, queue);
        paths->connected = level[to] != LEVEL_NONE;
        paths->distance = paths->connected ? level[to] : 0;
        paths->count = count[to];
        paths->saturated = count[to] == COUNT_MAX;
    } else {
        err = why_memory(why);
    }
    free(level);
    free(count);
    free(queue);
    return err;
}
