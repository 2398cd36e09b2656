#include "base/heap.h"

#include <stdlib.h>

#include "base/array.h"

bool heap_init(struct heap *heap, const double *key, uint32_t most)
{
    *heap = (struct heap){
        .key = key,
        .things = array_new(most, sizeof *heap->things),
        .slot = array_new(most, sizeof *heap->slot),
    };
    if (heap->things && heap->slot)
        return true;
    heap_fini(heap);
    return false;
}

void heap_fini(struct heap *heap)
{
    free(heap->things);
    free(heap->slot);
    *heap = (struct heap){0};
}
