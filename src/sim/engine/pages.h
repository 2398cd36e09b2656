#pragma once
/* pages: the memory of a simulated world, in regions that the system may back with huge pages.
 *
 * A hop touches about thirty places of a world that is far larger than the processor's translation
 * buffer covers; with small pages a fifth of the time was spent on address translation.
 *
 * Returned memory is kept for the next request of the same size: all incarnations of servers take
 * the same pieces. Nothing returns to the system before pages_fini. One thread. */

#include "base/arena.h"

#define PAGES_REGION (2u << 20) /* a huge page; regions begin at multiples of it */

struct pages_region;
struct pages_hole;

struct pages {
    struct arena_source source; /* for arenas */
    struct pages_region *regions;
    struct pages_hole *holes; /* returned pieces */
    char *at;                 /* the rest of the newest region */
    size_t left;
    size_t memory; /* of all regions */
};

void pages_init(struct pages *pages);
void pages_fini(struct pages *pages); /* frees also all that was taken */

/* Allocates at a multiple of `alignment`, a power of two of at most PAGES_REGION; not zeroed. NULL:
 * no memory. */
void *pages_take(struct pages *pages, size_t size, size_t alignment);
/* With the same size as when it was taken. */
void pages_give(struct pages *pages, void *memory, size_t size);
