/* Compares walks with the sorted keys of all groups. */
#include "services/store/index/index_walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define REGION_SIZE (1u << 20)
#define GROUPS      9
#define KEYS        300

struct row {
    uint32_t group;
    uint32_t size;
    uint8_t key[8];
};

static int row_compare(const void *one, const void *other)
{
    const struct row *a = one, *b = other;
    int order = memcmp(a->key, b->key, a->size < b->size ? a->size : b->size);
    return order ? order : (int)a->size - (int)b->size;
}

/* Different keys, each in one group, sorted. */
static uint32_t rows_draw(struct row *rows, struct rng *rng)
{
    uint32_t count = 0, wanted = (uint32_t)rng_below(rng, KEYS);
    for (uint32_t i = 0; i < wanted; i++) {
        struct row row = {.group = (uint32_t)rng_below(rng, GROUPS),
                          .size = (uint32_t)rng_below(rng, 7)};
        bool is_new = true;
        for (uint32_t j = 0; j < row.size; j++)
            row.key[j] = (uint8_t)("\0\xff"
                                   "ab"[rng_below(rng, 4)]);
        for (uint32_t j = 0; j < count; j++)
            is_new = is_new && row_compare(&rows[j], &row) != 0;
        if (is_new)
            rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, row_compare);
    return count;
}

static bool begins(const struct row *row, const struct row *prefix)
{
    return row->size >= prefix->size && memcmp(row->key, prefix->key, prefix->size) == 0;
}

static void check_walk(const struct index *index, const struct row *rows, uint32_t count,
                       uint32_t chosen, const struct row *prefix, const struct row *after)
{
    struct index_place places[GROUPS];
    struct index_walk walk;
    const struct index_entry *entry;
    uint32_t tag;
    index_walk_init(&walk, index, (struct index_key){prefix->key, prefix->size}, places);
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct index_key key =
            after ? (struct index_key){after->key, after->size} : (struct index_key){0};
        if (chosen >> i & 1)
            index_walk_add(&walk, i, 100 + i, after ? &key : NULL);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        if (!(chosen >> row->group & 1) || !begins(row, prefix) ||
            (after && row_compare(row, after) <= 0))
            continue;
        entry = index_walk_next(&walk, &tag);
        assert_non_null(entry);
        assert_int_equal(tag, 100 + row->group);
        assert_int_equal(entry->key_size, row->size);
        assert_memory_equal(entry->key, row->key, row->size);
    }
    assert_null(index_walk_next(&walk, &tag));
}

static void a_walk_has_the_keys_of_its_groups_in_order(void **unused)
{
    static struct row rows[KEYS], more[2];
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_make(seed, 1);
        void *memory = calloc(1, REGION_SIZE);
        struct index index;
        bool is_new;
        print_message("# seed %" PRIu64 "\n", seed);
        assert_non_null(memory);
        assert_true(index_init(&index, memory, REGION_SIZE, GROUPS));
        uint32_t count = rows_draw(rows, &rng);
        for (uint32_t i = 0; i < count; i++)
            assert_non_null(index_insert(&index, rows[i].group,
                                         (struct index_key){rows[i].key, rows[i].size}, 1,
                                         INDEX_VALUE, &is_new));
        for (unsigned i = 0; i < 2; i++) { /* a prefix, and the key to begin after */
            more[i].size = (uint32_t)rng_below(&rng, i ? 5 : 3);
            for (uint32_t j = 0; j < more[i].size; j++)
                more[i].key[j] = (uint8_t)("\0\xff"
                                           "ab"[rng_below(&rng, 4)]);
        }
        uint32_t chosen =
            rng_below(&rng, 2) ? (1u << GROUPS) - 1 : (uint32_t)rng_below(&rng, 1u << GROUPS);
        check_walk(&index, rows, count, chosen, &more[0], rng_below(&rng, 2) ? &more[1] : NULL);
        free(memory);
    }
}

TEST_MAIN(TEST(a_walk_has_the_keys_of_its_groups_in_order))
