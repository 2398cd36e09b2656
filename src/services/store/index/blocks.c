#include "services/store/index/blocks.h"

#include <string.h>

#include "base/check.h"
#include "base/compare.h"

static_assert(BLOCKS_SIZE_MAX / BLOCKS_UNIT < 64, "free_sizes has a bit for each size");
static_assert(BLOCKS_REGION_MAX / BLOCKS_UNIT - 1 == UINT32_MAX, "a reference names every unit");

static uint32_t units_of(uint32_t size)
{
    assert(size && size <= BLOCKS_SIZE_MAX);
    return blocks_round(size) / BLOCKS_UNIT;
}

static uint32_t link_read(const struct blocks *blocks, uint32_t reference)
{
    uint32_t next;
    memcpy(&next, blocks_at(blocks, reference), sizeof next);
    return next;
}

static void free_push(struct blocks *blocks, uint32_t reference, uint32_t units)
{
    memcpy(blocks_at(blocks, reference), &blocks->free[units], sizeof blocks->free[units]);
    blocks->free[units] = reference;
    blocks->free_sizes |= 1ull << units;
}

static uint32_t free_pop(struct blocks *blocks, uint32_t units)
{
    uint32_t reference = blocks->free[units];
    blocks->free[units] = link_read(blocks, reference);
    if (!blocks->free[units])
        blocks->free_sizes &= ~(1ull << units);
    return reference;
}

void blocks_init(struct blocks *blocks, void *memory, uint64_t size)
{
    assert((uintptr_t)memory % BLOCKS_UNIT == 0 && size >= BLOCKS_UNIT);
    *blocks = (struct blocks){
        .memory = memory,
        .unit_count = least_u64(size, BLOCKS_REGION_MAX) / BLOCKS_UNIT,
        .next_unit = 1, /* reference 0 means none */
    };
}

uint32_t blocks_take(struct blocks *blocks, uint32_t size)
{
    uint32_t units = units_of(size);
    uint32_t reference;
    if (blocks->free[units]) {
        reference = free_pop(blocks, units);
    } else if (blocks->unit_count - blocks->next_unit >= units) {
        reference = (uint32_t)blocks->next_unit;
        blocks->next_unit += units;
    } else {
        uint64_t larger = blocks->free_sizes >> units;
        if (!larger)
            return 0;
        uint32_t rest = (uint32_t)__builtin_ctzll(larger);
        reference = free_pop(blocks, units + rest);
        free_push(blocks, reference + units, rest);
    }
    blocks->used += units * BLOCKS_UNIT;
    return reference;
}

void blocks_give(struct blocks *blocks, uint32_t reference, uint32_t size)
{
    uint32_t units = units_of(size);
    assert(reference && reference + (uint64_t)units <= blocks->next_unit);
    free_push(blocks, reference, units);
    blocks->used -= units * BLOCKS_UNIT;
}

void blocks_check(const struct blocks *blocks)
{
    uint64_t units_free = 0;
    uint64_t sizes = 0;
    assert(blocks->next_unit && blocks->next_unit <= blocks->unit_count);
    assert(!blocks->free[0]);
    for (uint32_t units = 1; units <= BLOCKS_SIZE_MAX / BLOCKS_UNIT; units++) {
        sizes |= (uint64_t) !!blocks->free[units] << units;
        for (uint32_t at = blocks->free[units]; at; at = link_read(blocks, at)) {
            assert(at + (uint64_t)units <= blocks->next_unit);
            units_free += units;
            assert(units_free < blocks->next_unit); /* no list is a circle */
        }
    }
    assert(sizes == blocks->free_sizes);
    assert(blocks->used + (units_free + 1) * BLOCKS_UNIT == blocks->next_unit * BLOCKS_UNIT);
}
