#pragma once
/* moments: a heap of numbered items by the moment at which each is due. An item can be set again
 * while it is in the heap. Equal moments come in the order of the numbers. Pure. */

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

#define MOMENTS_NONE UINT32_MAX

struct moments_item {
    env_nsec due;
    uint32_t at; /* in the heap; MOMENTS_NONE: not in it */
};

struct moments {
    struct moments_item *items; /* borrowed */
    uint32_t *heap;             /* borrowed: a number for each item */
    uint32_t count;
};

void moments_init(struct moments *moments, struct moments_item *items, uint32_t *heap,
                  uint32_t item_count);
void moments_set(struct moments *moments, uint32_t item, env_nsec due); /* ENV_NEVER: removes it */
/* The item that is due first; MOMENTS_NONE: none. */
static inline uint32_t moments_first(const struct moments *moments)
{
    return moments->count ? moments->heap[0] : MOMENTS_NONE;
}
static inline env_nsec moments_next(const struct moments *moments)
{
    return moments->count ? moments->items[moments->heap[0]].due : ENV_NEVER;
}
