#include "services/store/log/hint.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define ENTRIES 3000

static uint8_t bytes[ENTRIES * HINT_ENTRY_MAX];
static uint32_t places[ENTRIES];

static bool never(const void *context)
{
    return false;
}

static bool always(const void *context)
{
    return true;
}

static void a_head_and_an_entry_are_read_as_written(void **state)
{
    uint8_t out[RECORD_HEAD], entry[HINT_ENTRY_MAX];
    struct hint_head head = {.segment = 7, .units = 1000, .salt = 99, .blocks = 3}, read = {0};
    hint_head_write(&head, out);
    assert_true(hint_head_read(&read, out, sizeof out));
    assert_true(read.segment == 7 && read.units == 1000 && read.salt == 99 && read.blocks == 3);
    assert_false(hint_head_read(&read, out, sizeof out - 1));
    for (unsigned bit = 0; bit < 8 * 40; bit++) {
        out[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(hint_head_read(&read, out, sizeof out));
        out[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    uint32_t unit;
    struct record back, record = {.kind = RECORD_TOMBSTONE,
                                  .group = 5,
                                  .version = UINT64_MAX - 3,
                                  .expiry = -4,
                                  .client = 77,
                                  .request = 8,
                                  .value_size = 1234,
                                  .key = "key",
                                  .key_size = 3};
    assert_int_equal(hint_entry_write(&record, 4711, entry), HINT_ENTRY_HEAD + 3);
    assert_int_equal(hint_entry_size(entry), HINT_ENTRY_HEAD + 3);
    assert_int_equal(hint_entry_read(&back, &unit, entry, sizeof entry), HINT_ENTRY_HEAD + 3);
    assert_int_equal(unit, 4711);
    assert_true(back.kind == RECORD_TOMBSTONE && back.group == 5 && back.key_size == 3 &&
                back.version == record.version && back.expiry == -4 && back.client == 77 &&
                back.request == 8 && back.value_size == 1234 && !memcmp(back.key, "key", 3));
    for (size_t size = 0; size < HINT_ENTRY_HEAD + 3; size++)
        assert_int_equal(hint_entry_read(&back, &unit, entry, size), 0);
    entry[5] = RECORD_MARK;
    assert_int_equal(hint_entry_read(&back, &unit, entry, sizeof entry), 0);
}

/* Keys of few letters, so that many begin with others. */
static uint32_t entries_make(uint64_t seed)
{
    struct rng rng = rng_make(seed, 1);
    uint32_t used = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        char key[RECORD_KEY_MAX];
        struct record record = {.kind = RECORD_VALUE, .version = i, .key = key};
        record.group = (uint32_t)rng_below(&rng, 3) << (8 * rng_below(&rng, 3));
        record.key_size = (uint8_t)rng_below(&rng, 8);
        for (unsigned j = 0; j < record.key_size; j++)
            key[j] = (char)(rng_below(&rng, 3) * 127);
        places[i] = used;
        used += hint_entry_write(&record, i, bytes + used);
    }
    return used;
}

static void entries_are_sorted_by_group_and_key(void **state)
{
    struct record before, record;
    bool seen[ENTRIES] = {false};
    uint32_t unit;
    (void)entries_make(7);
    hint_sort(bytes, places, ENTRIES, never, NULL);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_true(hint_entry_read(&record, &unit, bytes + places[i], HINT_ENTRY_MAX));
        assert_false(seen[unit]);
        seen[unit] = true;
        if (i > 0) {
            uint8_t least = record.key_size < before.key_size ? record.key_size : before.key_size;
            int order = memcmp(before.key, record.key, least);
            assert_true(before.group < record.group ||
                        (before.group == record.group &&
                         (order < 0 || (!order && before.key_size <= record.key_size))));
        }
        before = record;
    }
}

static void a_sort_ends_early_and_loses_no_entry(void **state)
{
    bool seen[ENTRIES] = {false};
    struct record record;
    uint32_t unit;
    (void)entries_make(8);
    hint_sort(bytes, places, ENTRIES, always, NULL);
    hint_sort(bytes, places, 0, never, NULL);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_true(hint_entry_read(&record, &unit, bytes + places[i], HINT_ENTRY_MAX));
        assert_false(seen[unit]);
        seen[unit] = true;
    }
}

static void a_damaged_block_is_refused(void **state)
{
    static uint8_t block[HINT_BLOCK_MAX];
    for (unsigned i = 0; i < 300; i++)
        block[i] = (uint8_t)(i * 3);
    hint_block_seal(block, 300);
    assert_int_equal(hint_block_read(block, sizeof block), 300);
    assert_int_equal(hint_block_read(block, 300), 300);
    assert_int_equal(hint_block_read(block, 299), 0);
    assert_int_equal(hint_block_read(block, 3), 0);
    for (unsigned bit = 0; bit < 8 * 300; bit++) {
        if (bit / 8 >= 4 && bit / 8 < 8)
            continue; /* unused */
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(hint_block_read(block, sizeof block), 0);
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memset(block, 0, sizeof block);
    assert_int_equal(hint_block_read(block, sizeof block), 0);
}

TEST_MAIN(TEST(a_head_and_an_entry_are_read_as_written), TEST(entries_are_sorted_by_group_and_key),
          TEST(a_sort_ends_early_and_loses_no_entry), TEST(a_damaged_block_is_refused))
