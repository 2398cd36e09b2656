/* hops: breadth-first search with a word per node. A node passes on the bits
 * that came new at the last level, so a search costs at most a visit per node
 * and bit, also in networks of long paths.
 *
 * Invariant between searches: now and next are all 0. */
#include "flow/matching/hops.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err hops_init(struct hops *hops, const struct graph *graph, struct why *why)
{
    uint32_t nodes = graph->node_count;
    *hops = (struct hops){
        .graph = graph,
        .seen = array_new(nodes, sizeof *hops->seen),
        .now = array_new(nodes, sizeof *hops->now),
        .next = array_new(nodes, sizeof *hops->next),
        .active = array_new(nodes, sizeof *hops->active),
        .touched = array_new(nodes, sizeof *hops->touched),
    };
    if (hops->seen && hops->now && hops->next && hops->active && hops->touched)
        return OK;
    hops_fini(hops);
    return why_memory(why);
}

void hops_fini(struct hops *hops)
{
    free(hops->seen);
    free(hops->now);
    free(hops->next);
    free(hops->active);
    free(hops->touched);
    *hops = (struct hops){0};
}

/* Every active node hands its new bits to its neighbours; returns how many
 * nodes were touched. */
static uint32_t push(struct hops *hops, uint32_t active_count)
{
    const struct graph *graph = hops->graph;
    uint32_t touched_count = 0;
    for (uint32_t i = 0; i < active_count; i++) {
        uint32_t node = hops->active[i];
        uint64_t bits = hops->now[node];
        hops->now[node] = 0;
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            uint32_t to = graph->to[slot];
            if (!hops->next[to])
                hops->touched[touched_count++] = to;
            hops->next[to] |= bits;
        }
    }
    return touched_count;
}

void hops_search(struct hops *hops, const uint32_t *sources, uint32_t count,
                 void (*reached)(void *context, uint32_t node, uint64_t fresh, uint32_t distance),
                 void *context)
{
    assert(count <= HOPS_BATCH);
    uint32_t touched_count = 0;
    memset(hops->seen, 0, hops->graph->node_count * sizeof *hops->seen);
    for (uint32_t i = 0; i < count; i++) {
        if (!hops->next[sources[i]])
            hops->touched[touched_count++] = sources[i];
        hops->next[sources[i]] |= UINT64_C(1) << i;
    }
    for (uint32_t distance = 0; touched_count > 0; distance++) {
        uint32_t active_count = 0;
        for (uint32_t i = 0; i < touched_count; i++) {
            uint32_t node = hops->touched[i];
            uint64_t fresh = hops->next[node] & ~hops->seen[node];
            hops->next[node] = 0;
            if (!fresh)
                continue;
            hops->seen[node] |= fresh;
            hops->now[node] = fresh;
            hops->active[active_count++] = node;
            reached(context, node, fresh, distance);
        }
        touched_count = push(hops, active_count);
    }
}
