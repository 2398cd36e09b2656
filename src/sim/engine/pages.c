#include "sim/engine/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/list.h"

/* All sizes are multiples of this, so that a hole has room for its head. */
#define STEP ((size_t)ARENA_ALIGN)

struct pages_region {
    struct pages_region *next;
    void *memory;
};

struct pages_hole {
    struct pages_hole *next;
    size_t size;
};

static_assert(sizeof(struct pages_hole) <= ARENA_ALIGN, "a hole fits in the smallest piece");

static void *source_take(struct arena_source *source, size_t size)
{
    return pages_take(container_of(source, struct pages, source), size, STEP);
}

static void source_give(struct arena_source *source, void *memory, size_t size)
{
    pages_give(container_of(source, struct pages, source), memory, size);
}

void pages_init(struct pages *pages)
{
    *pages = (struct pages){.source = {.take = source_take, .give = source_give}};
}

void pages_fini(struct pages *pages)
{
    while (pages->regions) {
        struct pages_region *region = pages->regions;
        pages->regions = region->next;
        free(region->memory);
        free(region);
    }
    pages_init(pages);
}

static size_t rounded(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

/* The rest of the previous region stays unused. Each region is at least an eighth of all previous
 * ones together, so there are few of them and few unused ends. */
static bool region_add(struct pages *pages, size_t size)
{
    size_t share = pages->memory / 8;
    size_t whole = rounded(size > share ? size : share, PAGES_REGION);
    struct pages_region *region = malloc(sizeof *region);
    void *memory = region ? aligned_alloc(PAGES_REGION, whole) : NULL;
    if (!memory) {
        free(region);
        return false;
    }
    madvise(memory, whole, MADV_HUGEPAGE); /* a hint: without it all works, but slower */
    *region = (struct pages_region){.next = pages->regions, .memory = memory};
    pages->regions = region;
    pages->at = memory;
    pages->left = whole;
    pages->memory += whole;
    return true;
}

static void *hole_take(struct pages *pages, size_t size, size_t alignment)
{
    for (struct pages_hole **at = &pages->holes; *at; at = &(*at)->next) {
        struct pages_hole *hole = *at;
        if (hole->size != size || (uintptr_t)hole % alignment)
            continue;
        *at = hole->next;
        return hole;
    }
    return NULL;
}

void *pages_take(struct pages *pages, size_t size, size_t alignment)
{
    assert(alignment <= PAGES_REGION);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = rounded(size ? size : 1, STEP);
    void *memory = hole_take(pages, size, alignment);
    if (memory)
        return memory;
    size_t gap = -(uintptr_t)pages->at & (alignment - 1);
    if (pages->left < gap + size) {
        if (!region_add(pages, size))
            return NULL;
        gap = 0;
    }
    memory = pages->at + gap;
    pages->at += gap + size;
    pages->left -= gap + size;
    return memory;
}

void pages_give(struct pages *pages, void *memory, size_t size)
{
    struct pages_hole *hole = memory;
    *hole = (struct pages_hole){.next = pages->holes, .size = rounded(size ? size : 1, STEP)};
    pages->holes = hole;
}
