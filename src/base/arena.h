#pragma once
/* arena: memory that is taken piece by piece at the start and given back as a whole.
 *
 * Whoever owns an arena fills it, seals it, and frees it in one call. After the seal taking from
 * it is a bug: nothing that runs for long may allocate. Pieces are zeroed.
 *
 * An arena of all zeros takes its blocks from the system; one with a source, from there. */

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

/* Where blocks come from; they are aligned to ARENA_ALIGN and need not be zeroed. */
struct arena_source {
    void *(*take)(struct arena_source *source, size_t size);
    void (*give)(struct arena_source *source, void *block, size_t size);
};

struct arena {
    struct arena_source *source; /* borrowed; NULL: the system */
    struct arena_block *blocks;  /* owned; the one with the most room first */
    size_t used;                 /* bytes given out */
    bool sealed;
};

#define ARENA_ALIGN 64

/* Zeroed and aligned to a cache line; NULL: no memory. */
void *arena_take(struct arena *arena, size_t size);
/* The same for `count` things; an overflow is no memory either. */
void *arena_take_array(struct arena *arena, size_t count, size_t size);
void arena_seal(struct arena *arena);
void arena_fini(struct arena *arena);
