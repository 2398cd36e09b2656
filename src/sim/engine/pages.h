#pragma once
/* pages: the memory of a simulated world, in regions that the system may back with huge pages.
 *
 * A hop touches some thirty places of a world that is far larger than what the processor's table of
 * pages holds; on small pages a fifth of its time went into looking them up.
 *
 * What is given back is kept for the next who takes as many bytes: the lives of servers all take
 * the same pieces. Nothing goes back to the system before pages_close. One thread. */

#include "base/arena.h"

#define PAGES_REGION (2u << 20) /* a huge page; and regions begin at multiples of it */

struct pages_region;
struct pages_hole;

struct pages {
    struct arena_source source; /* for arenas */
    struct pages_region *regions;
    struct pages_hole *holes; /* given back */
    char *at;                 /* what is left of the newest region */
    size_t left;
    size_t memory; /* of all regions */
};

void pages_init(struct pages *pages);
void pages_fini(struct pages *pages); /* with all that was taken */

/* At a multiple of `alignment`, a power of two of at most PAGES_REGION; not zeroed. NULL: no
 * memory. */
void *pages_take(struct pages *pages, size_t size, size_t alignment);
/* With the size it was taken with. */
void pages_give(struct pages *pages, void *memory, size_t size);
