/* Checks how much memory the keys of an index need, and what happens when there is no more. */
#include "services/store/index/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

#define EMPTY ((struct index_key){0})

static void *memory_make(size_t size)
{
    void *memory = calloc(1, size);
    assert_non_null(memory);
    return memory;
}

static void a_key_needs_at_most_64_bytes_besides_its_own(void **state)
{
    void *memory = memory_make((1u << 20));
    struct index index;
    uint8_t bytes[INDEX_KEY_SIZE_MAX] = {0};
    assert_true(index_init(&index, memory, (1u << 20), 1));
    for (uint32_t size = 0; size <= INDEX_KEY_SIZE_MAX; size++) {
        bool is_new;
        uint64_t unused = blocks_unused(&index.blocks), used = index.blocks.used;
        assert_non_null(
            index_insert(&index, 0, (struct index_key){bytes, size}, 1, INDEX_VALUE, &is_new));
        uint64_t cost = unused - blocks_unused(&index.blocks);
        assert_int_equal(cost, index.blocks.used - used);
        assert_in_range(cost, size, size + INDEX_OVERHEAD_MAX);
    }
    index_check(&index);
    free(memory);
}

/* Inserts keys of 4 to 8 bytes, which depend on the round, until the region is full. */
static uint32_t fill(struct index *index, uint32_t round)
{
    uint8_t bytes[8] = {0};
    for (uint32_t count = 0;; count++) {
        bool is_new;
        uint32_t number = count * 2654435761u ^ round;
        memcpy(bytes, &number, sizeof number);
        struct index_key key = {bytes, 4 + count % 5};
        uint64_t used = index->blocks.used;
        if (index_insert(index, 0, key, count, INDEX_VALUE, &is_new)) {
            assert_true(is_new);
            continue;
        }
        assert_false(is_new);
        assert_int_equal(index->blocks.used, used);
        assert_null(index_find(index, 0, key));
        return count;
    }
}

static void a_full_region_refuses_new_keys_and_keeps_the_old_ones(void **state)
{
    /* Of the regions whose sizes differ by 8, one has room for an entry but not for its node. */
    for (uint32_t size = 4096; size < 4096 + 80; size += 8) {
        void *memory = memory_make(size);
        struct index index;
        assert_true(index_init(&index, memory, size, 1));
        uint32_t count = fill(&index, 0);
        assert_int_equal(index.count, count);
        assert_true(count > 60);
        index_check(&index);
        uint64_t digest = index_digest(&index, 0);
        struct index_entry *last = index_next(&index, 0, NULL, EMPTY);
        struct index_key key = index_key_of(last);
        bool is_new;
        assert_ptr_equal(index_insert(&index, 0, key, 9, INDEX_TOMBSTONE, &is_new), last);
        assert_false(is_new);
        assert_int_equal(index_digest(&index, 0), digest);
        free(memory);
    }
}

static void a_region_that_was_emptied_holds_as_many_keys_again(void **state)
{
    uint32_t size = 65536;
    void *memory = memory_make(size);
    struct index index;
    assert_true(index_init(&index, memory, size, 1));
    uint32_t count = fill(&index, 0);
    for (uint32_t round = 1; round < 20; round++) {
        assert_true(index_drop(&index, 0, UINT32_MAX));
        assert_int_equal(index.blocks.used, 0);
        assert_int_equal(index.count, 0);
        assert_int_equal(fill(&index, round), count);
        index_check(&index);
    }
    free(memory);
}

/* Then about an eighth of the region is left. */
static void an_index_is_tight_before_it_is_full(void **state)
{
    uint32_t size = 65536, count = 0;
    void *memory = memory_make(size);
    struct index index;
    assert_true(index_init(&index, memory, size, 1));
    bool is_new = true;
    uint32_t tight = 0;
    for (; is_new; count++) {
        struct index_key key = {(const uint8_t *)&count, sizeof count};
        tight += !index_is_tight(&index);
        if (!index_insert(&index, 0, key, 1, INDEX_VALUE, &is_new))
            break;
    }
    assert_in_range(count - tight, count / 10, count / 7);
    assert_true(index_drop(&index, 0, UINT32_MAX));
    assert_false(index_is_tight(&index));
    free(memory);
}

static void memory_without_room_for_the_groups_is_refused(void **state)
{
    uint64_t memory[8] = {0};
    struct index index;
    bool is_new;
    assert_false(index_init(&index, memory, sizeof memory, 4));
    assert_true(index_init(&index, memory, sizeof memory, 3));
    assert_null(index_insert(&index, 2, EMPTY, 1, INDEX_VALUE, &is_new));
    assert_null(index_find(&index, 2, EMPTY));
    assert_null(index_next(&index, 2, NULL, EMPTY));
    index_check(&index);
}

TEST_MAIN(TEST(a_key_needs_at_most_64_bytes_besides_its_own),
          TEST(a_full_region_refuses_new_keys_and_keeps_the_old_ones),
          TEST(a_region_that_was_emptied_holds_as_many_keys_again),
          TEST(an_index_is_tight_before_it_is_full),
          TEST(memory_without_room_for_the_groups_is_refused))
