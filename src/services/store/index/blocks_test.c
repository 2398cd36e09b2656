/* Compares the blocks with a map of the region's units, one byte for each. */
#include "services/store/index/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define REGION_SIZE 32768
#define UNITS       (REGION_SIZE / BLOCKS_UNIT)
#define UNTOUCHED   0xa5

struct taken {
    uint32_t reference;
    uint32_t size;
    uint8_t content; /* all bytes of the block */
};

static uint8_t *region_make(struct blocks *blocks)
{
    uint8_t *memory = malloc(REGION_SIZE);
    assert_non_null(memory);
    memset(memory, UNTOUCHED, REGION_SIZE);
    blocks_init(blocks, memory, REGION_SIZE);
    return memory;
}

/* Marks the units of a new block, none of which belongs to another block. */
static void units_mark(const struct blocks *blocks, uint8_t *units, const struct taken *block)
{
    assert_ptr_equal(blocks_at(blocks, block->reference),
                     blocks->memory + block->reference * BLOCKS_UNIT);
    for (uint32_t i = 0; i < blocks_round(block->size) / BLOCKS_UNIT; i++) {
        assert_in_range(block->reference + i, 1, UNITS - 1);
        assert_int_equal(units[block->reference + i]++, 0);
    }
}

static void blocks_neither_overlap_nor_change_under_random_use(void **state)
{
    const uint64_t seed = 5;
    struct taken taken[UNITS];
    uint8_t units[UNITS] = {0};
    struct blocks blocks;
    uint8_t *memory = region_make(&blocks);
    uint32_t count = 0, refused = 0;
    uint64_t used = 0;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (unsigned step = 0; step < 100000; step++) {
        bool grows = step / 5000 % 2; /* the region fills and empties in turn */
        if (rng_below(&rng, 10) < (grows ? 7 : 3)) {
            struct taken block = {.size = 1 + (uint32_t)rng_below(&rng, BLOCKS_SIZE_MAX),
                                  .content = (uint8_t)step};
            block.reference = blocks_take(&blocks, block.size);
            if (!block.reference) {
                refused++;
                continue;
            }
            units_mark(&blocks, units, &block);
            memset(blocks_at(&blocks, block.reference), block.content, block.size);
            used += (block.size + 7) / 8 * 8;
            taken[count++] = block;
        } else if (count) {
            uint32_t at = (uint32_t)rng_below(&rng, count);
            struct taken block = taken[at];
            const uint8_t *bytes = blocks_at(&blocks, block.reference);
            for (uint32_t i = 0; i < block.size; i++)
                assert_int_equal(bytes[i], block.content);
            memset(units + block.reference, 0, blocks_round(block.size) / BLOCKS_UNIT);
            blocks_give(&blocks, block.reference, block.size);
            used -= (block.size + 7) / 8 * 8;
            taken[at] = taken[--count];
        }
        assert_int_equal(blocks.used, used);
        if (step % 16 == 0)
            blocks_check(&blocks);
    }
    assert_true(refused > 100);
    free(memory);
}

static void memory_is_not_written_before_it_is_used(void **state)
{
    struct blocks blocks;
    uint8_t *memory = region_make(&blocks);
    uint32_t first = blocks_take(&blocks, 56), second = blocks_take(&blocks, 16);
    memset(blocks_at(&blocks, first), 0, 56);
    memset(blocks_at(&blocks, second), 0, 16);
    blocks_give(&blocks, first, 56);
    uint64_t unused = blocks_unused(&blocks);
    assert_int_equal(unused, REGION_SIZE - BLOCKS_UNIT - 56 - 16);
    for (uint64_t i = REGION_SIZE - unused; i < REGION_SIZE; i++)
        assert_int_equal(memory[i], UNTOUCHED);
    free(memory);
}

static void a_block_that_was_given_back_serves_its_size_again(void **state)
{
    struct blocks blocks;
    uint8_t *memory = region_make(&blocks);
    uint32_t reference = blocks_take(&blocks, 50);
    blocks_take(&blocks, 20);
    uint64_t unused = blocks_unused(&blocks);
    blocks_give(&blocks, reference, 50);
    assert_int_equal(blocks_take(&blocks, 56), reference); /* 50 bytes occupy 56 */
    assert_int_equal(blocks_unused(&blocks), unused);
    blocks_check(&blocks);
    free(memory);
}

static void a_full_region_splits_larger_free_blocks(void **state)
{
    struct blocks blocks;
    uint8_t *memory = region_make(&blocks);
    uint32_t reference, last = 0, count = 0;
    while ((reference = blocks_take(&blocks, 504))) {
        last = reference;
        count++;
    }
    assert_int_equal(count, (REGION_SIZE - BLOCKS_UNIT) / 504);
    for (uint64_t rest = blocks_unused(&blocks); rest; rest -= BLOCKS_UNIT)
        assert_int_not_equal(blocks_take(&blocks, 8), 0);
    assert_int_equal(blocks_take(&blocks, 8), 0);
    blocks_give(&blocks, last, 504);
    for (unsigned i = 0; i < 21; i++)
        assert_int_equal(blocks_take(&blocks, 24), last + 3 * i);
    assert_int_equal(blocks_take(&blocks, 8), 0);
    assert_int_equal(blocks.used, REGION_SIZE - BLOCKS_UNIT);
    blocks_check(&blocks);
    free(memory);
}

static void references_reach_the_end_of_the_largest_region(void **state)
{
    static uint64_t memory[1]; /* no block is written, so there need not be more */
    struct blocks blocks;
    blocks_init(&blocks, memory, BLOCKS_REGION_MAX + 4096); /* the 4096 bytes stay unused */
    blocks.next_unit = UINT32_MAX - 2;
    assert_int_equal(blocks_take(&blocks, 32), 0);
    assert_int_equal(blocks_take(&blocks, 16), UINT32_MAX - 2);
    assert_int_equal(blocks_take(&blocks, 8), UINT32_MAX);
    assert_int_equal((uintptr_t)blocks_at(&blocks, UINT32_MAX) - (uintptr_t)memory,
                     BLOCKS_REGION_MAX - BLOCKS_UNIT);
    assert_int_equal(blocks_unused(&blocks), 0);
    assert_int_equal(blocks_take(&blocks, 1), 0);
}

TEST_MAIN(TEST(blocks_neither_overlap_nor_change_under_random_use),
          TEST(memory_is_not_written_before_it_is_used),
          TEST(a_block_that_was_given_back_serves_its_size_again),
          TEST(a_full_region_splits_larger_free_blocks),
          TEST(references_reach_the_end_of_the_largest_region))
