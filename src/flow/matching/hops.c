/* hops: breadth-first search with a cache line per node. A node passes on the sources that were new
 * at the last level, so a search costs at most one visit per node and source, also in networks of
 * long paths; it ends when all sources have reached all nodes, without a last level that finds
 * nothing.
 *
 * Invariant between searches: next and marked are all 0. */
#include "flow/matching/hops.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
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
        .marked = array_new(nodes, sizeof *hops->marked),
    };
    if (hops->seen && hops->now && hops->next && hops->active && hops->touched && hops->marked)
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
    free(hops->marked);
    *hops = (struct hops){0};
}

static void touch(struct hops *hops, uint32_t node, uint32_t *touched_count)
{
    if (hops->marked[node])
        return;
    hops->marked[node] = 1;
    hops->touched[(*touched_count)++] = node;
}

/* Prefetches the lines that will be written for a node while the previous one is processed. */
static inline void prefetch(const struct hops *hops, uint32_t node)
{
    const struct graph *graph = hops->graph;
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++)
        __builtin_prefetch(&hops->next[graph->to[slot]], 1);
}

/* Every active node passes its new sources to its neighbours; returns the number of touched
 * nodes. */
static uint32_t push(struct hops *hops, uint32_t active_count)
{
    const struct graph *graph = hops->graph;
    uint32_t touched_count = 0;
    for (uint32_t i = 0; i < active_count; i++) {
        uint32_t node = hops->active[i];
        const struct hops_set set = hops->now[node];
        if (i + 1 < active_count)
            prefetch(hops, hops->active[i + 1]);
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            struct hops_set *next = &hops->next[graph->to[slot]];
            for (uint32_t k = 0; k < HOPS_WORDS; k++)
                next->words[k] |= set.words[k];
            touch(hops, graph->to[slot], &touched_count);
        }
    }
    return touched_count;
}

/* Keeps only the new ones of the sources that were passed to a node; returns their number. */
static uint32_t take(struct hops *hops, uint32_t node)
{
    struct hops_set *next = &hops->next[node], *seen = &hops->seen[node], *now = &hops->now[node];
    uint32_t count = 0;
    hops->marked[node] = 0;
    for (uint32_t k = 0; k < HOPS_WORDS; k++) {
        now->words[k] = next->words[k] & ~seen->words[k];
        seen->words[k] |= now->words[k];
        next->words[k] = 0;
        count += (uint32_t)__builtin_popcountll(now->words[k]);
    }
    return count;
}

void hops_search(struct hops *hops, const uint32_t *sources, uint32_t count,
                 void (*reached)(void *context, uint32_t node, const struct hops_set *fresh,
                                 uint32_t distance),
                 void *context)
{
    assert(count <= HOPS_BATCH);
    uint32_t touched_count = 0;
    uint64_t left = (uint64_t)count * hops->graph->node_count; /* pairs that have not met yet */
    memset(hops->seen, 0, hops->graph->node_count * sizeof *hops->seen);
    for (uint32_t i = 0; i < count; i++) {
        bitset_add(hops->next[sources[i]].words, i);
        touch(hops, sources[i], &touched_count);
    }
    for (uint32_t distance = 0; touched_count > 0; distance++) {
        uint32_t active_count = 0;
        for (uint32_t i = 0; i < touched_count; i++) {
            uint32_t node = hops->touched[i], fresh = take(hops, node);
            if (!fresh)
                continue;
            left -= fresh;
            hops->active[active_count++] = node;
            reached(context, node, &hops->now[node], distance);
        }
        touched_count = left ? push(hops, active_count) : 0;
    }
}
