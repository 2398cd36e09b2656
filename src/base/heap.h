#pragma once
/* heap: numbered items, smallest key first, for Dijkstra's algorithm. The keys belong to the
 * caller, who may lower the key of an item in the heap and then calls heap_lowered. Each item has
 * four children, because keys are lowered more often than items are taken out. Equal keys come out
 * in no particular order. */

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"

struct heap {
    const double *key; /* borrowed; per item */
    uint32_t *things;  /* owned; the heap */
    uint32_t *slot;    /* owned; per item in the heap: its place */
    uint32_t count;    /* items in the heap */
};

/* Makes an empty heap for items numbered below `most`. False if there is no memory; heap_fini is
 * allowed even then. */
MUST_CHECK bool heap_init(struct heap *heap, const double *key, uint32_t most);
void heap_fini(struct heap *heap);

static inline void heap_put(struct heap *heap, uint32_t slot, uint32_t thing)
{
    heap->things[slot] = thing;
    heap->slot[thing] = slot;
}

/* Call this when the key of an item in the heap was lowered. */
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

/* Adds an item that is not in the heap, as if its key were infinite; if it is not, call
 * heap_lowered next. */
static inline void heap_add(struct heap *heap, uint32_t thing)
{
    heap_put(heap, heap->count++, thing);
}

/* Takes out the item with the smallest key; the heap must not be empty. */
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
