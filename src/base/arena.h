#pragma once
/* arena: memory that is allocated piece by piece at the start and freed as a whole.
 *
 * The owner of an arena fills it, seals it, and frees it in one call. Taking memory after the seal
 * is a bug, because code that runs for long must not allocate. Pieces are zeroed.
 *
 * An arena of all zeros takes its blocks from the system; an arena with a source takes them from
 * there.
 *
 * Small pieces share blocks. A large piece that may never be used as a whole is a mapping of its
 * own (arena_map): it occupies memory only where it was written. */

#include <stdbool.h>
#include <stddef.h>

struct arena_block;
struct arena_mapping;

/* Supplies blocks, which are aligned to ARENA_ALIGN and need not be zeroed; and, if it has `map`,
 * zeroed mappings, which otherwise come from the system. */
struct arena_source {
    void *(*take)(struct arena_source *source, size_t size);
    void (*give)(struct arena_source *source, void *block, size_t size);
    void *(*map)(struct arena_source *source, size_t size);
    void (*unmap)(struct arena_source *source, void *memory, size_t size);
};

struct arena {
    struct arena_source *source;    /* borrowed; NULL: the system */
    struct arena_block *blocks;     /* owned; the block with the most room first */
    struct arena_mapping *mappings; /* owned, the last one first */
    size_t used;                    /* bytes given out, without mappings */
    size_t mapped;                  /* bytes of mappings, most of which may be untouched */
    bool sealed;
};

#define ARENA_ALIGN 64
/* arena_map makes a mapping for a piece of this size or more; a smaller piece is in a block. */
#define ARENA_MAP_MIN ((size_t)64 * 1024)

/* Returns zeroed memory aligned to a cache line; NULL: no memory. */
void *arena_take(struct arena *arena, size_t size);
/* The same for `count` items; an overflow returns NULL, too. */
void *arena_take_array(struct arena *arena, size_t count, size_t size);
/* The same for memory that is not touched before it is used. */
void *arena_map(struct arena *arena, size_t size);
void arena_seal(struct arena *arena);
void arena_fini(struct arena *arena);
