#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mapping.h"

/* Small pieces share a block; a piece larger than a block gets its own. */
enum { BLOCK_SIZE = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size, used; /* including this head */
};

struct arena_mapping {
    struct arena_mapping *next;
    void *memory;
    size_t size;
};

static_assert(sizeof(struct arena_block) <= ARENA_ALIGN, "the head fits before the first piece");

static struct arena_block *block_add(struct arena *arena, size_t size)
{
    size_t whole =
        ARENA_ALIGN + (size > BLOCK_SIZE - ARENA_ALIGN ? size : BLOCK_SIZE - ARENA_ALIGN);
    struct arena_block *block = arena->source ? arena->source->take(arena->source, whole)
                                              : aligned_alloc(ARENA_ALIGN, whole);
    if (!block)
        return NULL;
    /* The block with more room left comes first. */
    struct arena_block *first = arena->blocks;
    bool behind = first && first->size - first->used > whole - ARENA_ALIGN - size;
    struct arena_block **link = behind ? &first->next : &arena->blocks;
    *block = (struct arena_block){.next = *link, .size = whole, .used = ARENA_ALIGN};
    *link = block;
    return block;
}

void *arena_take(struct arena *arena, size_t size)
{
    assert(!arena->sealed);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size)
        block = block_add(arena, size);
    if (!block)
        return NULL;
    void *piece = (char *)block + block->used;
    block->used += size;
    arena->used += size;
    return memset(piece, 0, size);
}

void *arena_take_array(struct arena *arena, size_t count, size_t size)
{
    size_t whole;
    return __builtin_mul_overflow(count, size, &whole) ? NULL : arena_take(arena, whole);
}

/* The list entry is in a block, because a head within the mapping would touch its first page. */
void *arena_map(struct arena *arena, size_t size)
{
    struct arena_source *source = arena->source;
    assert(!arena->sealed);
    if (size < ARENA_MAP_MIN)
        return arena_take(arena, size);
    if (size > SIZE_MAX / 2)
        return NULL;
    struct arena_mapping *mapping = arena_take(arena, sizeof *mapping);
    if (!mapping)
        return NULL;
    void *memory = source && source->map ? source->map(source, size) : mapping_take(size);
    if (!memory)
        return NULL;
    *mapping = (struct arena_mapping){.next = arena->mappings, .memory = memory, .size = size};
    arena->mappings = mapping;
    arena->mapped += size;
    return memory;
}

void arena_seal(struct arena *arena)
{
    arena->sealed = true;
}

void arena_fini(struct arena *arena)
{
    for (struct arena_mapping *at = arena->mappings; at; at = at->next)
        if (arena->source && arena->source->map)
            arena->source->unmap(arena->source, at->memory, at->size);
        else
            mapping_give(at->memory, at->size);
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        if (arena->source)
            arena->source->give(arena->source, block, block->size);
        else
            free(block);
    }
    *arena = (struct arena){.source = arena->source};
}
