#pragma once
/* blocks: hands out blocks of a region of memory, in sizes that are multiples of 8 bytes. Pure.
 *
 * A reference of 32 bits names a block: the distance from the start of the region in units of
 * 8 bytes. So a region has at most 32 GiB. The caller owns the region; it remembers the size of
 * each block, because a block has no header. The link of a free block is inside the block, and
 * memory is first written when its block is first used, so an unused part of a region costs no
 * pages.
 *
 * A block that was given back serves the next request of its size. When the region has no unused
 * part left, a request is also served from a larger free block, whose rest becomes a free block.
 * Free blocks are never merged: after many small blocks were given back, a request for a large
 * block can fail. */

#include <stdint.h>

#define BLOCKS_UNIT       8
#define BLOCKS_SIZE_MAX   504           /* of one block: `free_sizes` has a bit for each size */
#define BLOCKS_REGION_MAX (32ull << 30) /* the rest of a larger region stays unused */

struct blocks {
    uint8_t *memory;                                  /* borrowed; its address is a multiple of 8 */
    uint64_t unit_count;                              /* of the region */
    uint64_t next_unit;                               /* the first unit that was never used */
    uint64_t used;                                    /* bytes in blocks that are taken */
    uint64_t free_sizes;                              /* bit n: there is a free block of n units */
    uint32_t free[BLOCKS_SIZE_MAX / BLOCKS_UNIT + 1]; /* by units: the first free block, or 0 */
};

void blocks_init(struct blocks *blocks, void *memory, uint64_t size);

/* A reference to a block of at least 1 and at most BLOCKS_SIZE_MAX bytes; 0 if the region is full.
 * The content is arbitrary. */
uint32_t blocks_take(struct blocks *blocks, uint32_t size);
/* `size` is as it was for blocks_take. */
void blocks_give(struct blocks *blocks, uint32_t reference, uint32_t size);

/* Bytes that a block of this size occupies. */
static inline uint32_t blocks_round(uint32_t size)
{
    return (size + BLOCKS_UNIT - 1) / BLOCKS_UNIT * BLOCKS_UNIT;
}

static inline void *blocks_at(const struct blocks *blocks, uint32_t reference)
{
    return blocks->memory + (uint64_t)reference * BLOCKS_UNIT;
}

/* Bytes that were never part of a block. */
static inline uint64_t blocks_unused(const struct blocks *blocks)
{
    return (blocks->unit_count - blocks->next_unit) * BLOCKS_UNIT;
}

void blocks_check(const struct blocks *blocks); /* asserts its invariants; walks all free blocks */
