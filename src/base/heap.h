#pragma once
/* heap: numbered things, the one with the least key first, for Dijkstra's
 * algorithm. The keys belong to the user, who may lower the key of a thing in the
 * heap and then says so. Each has four children: a thing is lowered more often
 * than one is taken out. Equal keys come out in no particular order. */

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"

struct heap {
    const double *key; /* borrowed; per thing */
    uint32_t *things;  /* owned; the heap */
    uint32_t *slot;    /* owned; per thing in the heap: where it stands */
    uint32_t count;    /* of things in the heap */
};

/* Empty, for things numbered below `most`. False when memory is short; heap_fini is
 * allowed even then. */
MUST_CHECK bool heap_init(struct heap *heap, const double *key, uint32_t most);
void heap_fini(struct heap *heap);

static inline void heap_put(struct heap *heap, uint32_t slot, uint32_t thing)
{
    heap->things[slot] = thing;
    heap->slot[thing] = slot;
}

/* The thing, which is in the heap, has a lower key now. */
static inline void heap_lowered(struct heap *heap, uint32_t thing)
{
    uint32_t slot = heap->slot[thing];
    double key = heap->key[thing];
    while (slot > 0) {
        uint32_t above = (slot - 1) / 4;
        if (heap->key[heap->things[above]] <= key)
            break;
        heap_put(heap, slot, heap->things[above]);
        slot = above;
    }
    heap_put(heap, slot, thing);
}

/* The thing, which is not in the heap, goes into it as if its key were infinite; if
 * it is not, heap_lowered must follow. */
static inline void heap_add(struct heap *heap, uint32_t thing)
{
    heap_put(heap, heap->count++, thing);
}

/* Takes out the thing with the least key; the heap is not empty. */
static inline uint32_t heap_take(struct heap *heap)
{
    assert(heap->count > 0);
    uint32_t first = heap->things[0], count = --heap->count;
    uint32_t thing = heap->things[count], slot = 0;
    double key = heap->key[thing];
    for (uint32_t child = 1; child < count; child = 4 * slot + 1) {
        uint32_t least = child;
        for (uint32_t other = child + 1; other < child + 4 && other < count; other++)
            if (heap->key[heap->things[other]] < heap->key[heap->things[least]])
                least = other;
        if (heap->key[heap->things[least]] >= key)
            break;
        heap_put(heap, slot, heap->things[least]);
        slot = least;
    }
    if (count)
        heap_put(heap, slot, thing);
    return first;
}
