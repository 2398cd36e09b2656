/* Compares the index with sorted arrays, one for each group. */
#include "services/store/index/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define REGION_SIZE (1u << 20)
#define GROUPS      3
#define ROWS_MAX    600 /* of one group */

/* What the oracle knows of an entry. */
struct row {
    struct index_entry *entry;
    uint64_t version;
    uint32_t key_size;
    uint32_t segment;
    uint8_t key[INDEX_KEY_SIZE_MAX];
    uint8_t kind;
};

struct oracle {
    struct row rows[ROWS_MAX]; /* sorted */
    uint32_t count;
};

static void *memory_make(size_t size)
{
    void *memory = calloc(1, size);
    assert_non_null(memory);
    return memory;
}

static struct index_key text_key(const char *text)
{
    return (struct index_key){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* Few letters and many repetitions, so that keys are often equal, beginnings of each other, or
 * different in one bit. */
static struct index_key key_draw(struct rng *rng, uint8_t *bytes)
{
    static const uint8_t letters[] = {0, 0, 0, 0xff, 0xff, 0x80, 'a', 'b', 1};
    uint32_t size = (uint32_t)rng_below(rng, 7);
    if (!rng_below(rng, 8)) /* around the words that are compared at once, and the longest */
        size = rng_below(rng, 2) ? 7 + (uint32_t)rng_below(rng, 11)
                                 : INDEX_KEY_SIZE_MAX - (uint32_t)rng_below(rng, 3);
    memset(bytes, letters[rng_below(rng, 2) * 3], size);
    uint32_t drawn = size < 6 ? size : (uint32_t)rng_below(rng, 3);
    for (uint32_t i = 0; i < drawn; i++)
        bytes[size < 6 ? i : rng_below(rng, size)] = letters[rng_below(rng, sizeof letters)];
    return (struct index_key){bytes, size};
}

static int key_compare(struct index_key one, struct index_key other)
{
    uint32_t both = one.size < other.size ? one.size : other.size;
    int order = both ? memcmp(one.bytes, other.bytes, both) : 0;
    return order ? order : (int)one.size - (int)other.size;
}

static struct index_key row_key(const struct row *row)
{
    return (struct index_key){row->key, row->key_size};
}

/* The first row whose key is not before the key. */
static uint32_t oracle_place(const struct oracle *oracle, struct index_key key)
{
    uint32_t at = 0;
    while (at < oracle->count && key_compare(row_key(&oracle->rows[at]), key) < 0)
        at++;
    return at;
}

static struct row *oracle_find(struct oracle *oracle, struct index_key key)
{
    uint32_t at = oracle_place(oracle, key);
    if (at == oracle->count || key_compare(row_key(&oracle->rows[at]), key))
        return NULL;
    return &oracle->rows[at];
}

static void oracle_add(struct oracle *oracle, struct index_key key, struct index_entry *entry)
{
    uint32_t at = oracle_place(oracle, key);
    struct row *row = &oracle->rows[at];
    assert_true(oracle->count < ROWS_MAX);
    memmove(row + 1, row, (oracle->count++ - at) * sizeof *row);
    *row = (struct row){.entry = entry,
                        .version = entry->version,
                        .key_size = key.size,
                        .segment = entry->segment,
                        .kind = entry->kind};
    memcpy(row->key, key.bytes, key.size);
}

static void oracle_cut(struct oracle *oracle, struct row *row)
{
    uint32_t after = --oracle->count - (uint32_t)(row - oracle->rows);
    memmove(row, row + 1, after * sizeof *row);
}

static bool row_begins(const struct row *row, struct index_key prefix)
{
    return row->key_size >= prefix.size && !memcmp(row->key, prefix.bytes, prefix.size);
}

/* The first row after a key, with a prefix, by looking at all rows. */
static struct index_entry *oracle_next(const struct oracle *oracle, const struct index_key *after,
                                       struct index_key prefix)
{
    for (const struct row *row = oracle->rows; row < oracle->rows + oracle->count; row++)
        if ((!after || key_compare(row_key(row), *after) > 0) && row_begins(row, prefix))
            return row->entry;
    return NULL;
}

/* The index lists exactly the rows of the oracle, in their order and with their content. */
static void oracle_compare(const struct oracle *oracle, const struct index *index, uint32_t group)
{
    struct index_entry *entry = NULL;
    struct index_key after;
    assert_int_equal(index_count(index, group), oracle->count);
    for (uint32_t i = 0; i < oracle->count; i++) {
        const struct row *row = &oracle->rows[i];
        entry = index_next(index, group, entry ? &after : NULL, text_key(""));
        assert_ptr_equal(entry, row->entry);
        assert_int_equal(entry->key_size, row->key_size);
        assert_memory_equal(entry->key, row->key, row->key_size);
        assert_int_equal(entry->version, row->version);
        assert_int_equal(entry->kind, row->kind);
        assert_int_equal(entry->segment, row->segment);
        after = index_key_of(entry);
    }
    assert_null(index_next(index, group, entry ? &after : NULL, text_key("")));
}

static enum index_kind kind_draw(struct rng *rng)
{
    return rng_below(rng, 3) ? INDEX_VALUE : INDEX_TOMBSTONE;
}

static void insert_both(struct index *index, struct oracle *oracle, uint32_t group,
                        struct index_key key, struct rng *rng)
{
    bool is_new;
    struct row *row = oracle_find(oracle, key);
    struct index_entry *entry =
        index_insert(index, group, key, rng_next(rng), kind_draw(rng), &is_new);
    assert_non_null(entry);
    assert_int_equal(is_new, !row);
    if (row) {
        assert_ptr_equal(entry, row->entry);
        assert_int_equal(entry->version, row->version);
        return;
    }
    assert_int_equal(entry->flags, 0);
    assert_int_equal(entry->expiry, 0);
    assert_int_equal(entry->segment + entry->offset + entry->value_size, 0);
    entry->segment = (uint32_t)rng_next(rng);
    entry->expiry = -1;
    entry->flags = UINT16_MAX;
    entry->offset = entry->value_size = UINT32_MAX;
    oracle_add(oracle, key, entry);
}

static void agrees_with_sorted_arrays_under_random_changes(void **state)
{
    const uint64_t seed = 17;
    static struct oracle oracles[GROUPS];
    void *memory = memory_make(REGION_SIZE);
    struct index index;
    struct rng rng = rng_make(seed, 0);
    uint8_t bytes[INDEX_KEY_SIZE_MAX], more[INDEX_KEY_SIZE_MAX];
    print_message("# seed %llu\n", (unsigned long long)seed);
    assert_true(index_init(&index, memory, REGION_SIZE, GROUPS));
    for (unsigned step = 0; step < 40000; step++) {
        uint32_t group = (uint32_t)rng_below(&rng, GROUPS);
        struct oracle *oracle = &oracles[group];
        struct index_key key = key_draw(&rng, bytes), prefix;
        struct row *row = oracle_find(oracle, key);
        bool grows = step / 4000 % 2 == 0 && oracle->count < ROWS_MAX;
        switch (rng_below(&rng, 6)) {
        case 0:
        case 1:
            if (grows || (!row && !rng_below(&rng, 4) && oracle->count < ROWS_MAX))
                insert_both(&index, oracle, group, key, &rng);
            break;
        case 2:
            if (!row && !grows && oracle->count)
                row = &oracle->rows[rng_below(&rng, oracle->count)];
            if (row) {
                index_remove(&index, group, row->entry);
                oracle_cut(oracle, row);
            }
            break;
        case 3:
            if (row) {
                row->version = rng_next(&rng);
                row->kind = (uint8_t)kind_draw(&rng);
                index_change(&index, group, row->entry, row->version, row->kind);
            }
            break;
        case 4:
            assert_ptr_equal(index_find(&index, group, key), row ? row->entry : NULL);
            break;
        default:
            prefix = key_draw(&rng, more);
            if (rng_below(&rng, 2)) /* often of the same key */
                prefix = (struct index_key){bytes, (uint32_t)rng_below(&rng, key.size + 1)};
            assert_ptr_equal(index_next(&index, group, &key, prefix),
                             oracle_next(oracle, &key, prefix));
            assert_ptr_equal(index_next(&index, group, NULL, prefix),
                             oracle_next(oracle, NULL, prefix));
        }
        if (step == 13001) {
            index_clear(&index);
            memset(oracles, 0, sizeof oracles);
        }
        if (step % 64 == 0) {
            index_check(&index);
            oracle_compare(oracle, &index, group);
        }
    }
    assert_int_equal(index.count, oracles[0].count + oracles[1].count + oracles[2].count);
    free(memory);
}

static void pages_of_a_prefix_list_every_key_with_it_once(void **state)
{
    static struct oracle oracle;
    const struct index_key prefixes[] = {
        text_key("ab"), text_key("\xff"), {(const uint8_t *)"\0", 2}, text_key("a"), text_key("")};
    void *memory = memory_make(REGION_SIZE);
    struct index index;
    struct rng rng = rng_make(23, 0);
    uint8_t bytes[INDEX_KEY_SIZE_MAX];
    assert_true(index_init(&index, memory, REGION_SIZE, 1));
    while (oracle.count < ROWS_MAX)
        insert_both(&index, &oracle, 0, key_draw(&rng, bytes), &rng);
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        uint32_t expected = 0, listed = 0;
        for (uint32_t at = 0; at < oracle.count; at++)
            expected += row_begins(&oracle.rows[at], prefixes[i]);
        struct index_entry *entry = index_next(&index, 0, NULL, prefixes[i]);
        while (entry) {
            struct index_key after = {bytes, entry->key_size}; /* outlives the entry */
            memcpy(bytes, entry->key, entry->key_size);
            listed++;
            assert_ptr_equal(entry, oracle_find(&oracle, after)->entry);
            if (listed % 3 == 0) {
                oracle_cut(&oracle, oracle_find(&oracle, after));
                index_remove(&index, 0, entry);
            }
            entry = index_next(&index, 0, &after, prefixes[i]);
        }
        assert_int_equal(listed, expected);
        assert_true(listed > 1);
    }
    index_check(&index);
    free(memory);
}

static void a_group_is_dropped_in_steps(void **state)
{
    static struct oracle oracles[GROUPS];
    void *memory = memory_make(REGION_SIZE);
    struct index index;
    struct rng rng = rng_make(29, 0);
    uint8_t bytes[INDEX_KEY_SIZE_MAX];
    assert_true(index_init(&index, memory, REGION_SIZE, GROUPS));
    for (unsigned i = 0; i < 900; i++)
        insert_both(&index, &oracles[i % GROUPS], i % GROUPS, key_draw(&rng, bytes), &rng);
    uint32_t left = oracles[1].count;
    assert_false(index_drop(&index, 1, 0));
    while (left) {
        uint32_t removed = left < 7 ? left : 7;
        assert_int_equal(index_drop(&index, 1, 7), left == removed);
        left -= removed;
        assert_int_equal(index_count(&index, 1), left);
        index_check(&index);
    }
    assert_true(index_drop(&index, 1, 7));
    assert_true(index_drop(&index, 1, 0));
    assert_int_equal(index_digest(&index, 1), 0);
    oracle_compare(&oracles[0], &index, 0);
    oracle_compare(&oracles[2], &index, 2);
    free(memory);
}

static void the_digest_does_not_depend_on_the_order_of_operations(void **state)
{
    uint32_t numbers[300];
    uint64_t digests[8];
    struct rng rng = rng_make(31, 0);
    for (uint32_t i = 0; i < 300; i++)
        numbers[i] = i;
    for (unsigned run = 0; run < 8; run++) {
        void *memory = memory_make(REGION_SIZE);
        struct index index;
        bool is_new;
        assert_true(index_init(&index, memory, REGION_SIZE, GROUPS));
        rng_shuffle(&rng, numbers, 300);
        for (uint32_t i = 0; i < 300; i++) {
            uint32_t n = numbers[i];
            enum index_kind kind = n % 3 ? INDEX_VALUE : INDEX_TOMBSTONE;
            struct index_key key = {(const uint8_t *)&numbers[i], sizeof n};
            bool is_early = rng_below(&rng, 2); /* an older version comes first */
            struct index_entry *entry =
                index_insert(&index, run % GROUPS, key, n + is_early, INDEX_VALUE, &is_new);
            entry->expiry = (int64_t)rng_next(&rng); /* does not count */
            index_change(&index, run % GROUPS, entry, n, kind);
            if (n >= 200) /* these are removed again */
                index_remove(&index, run % GROUPS, entry);
        }
        index_check(&index);
        digests[run] = index_digest(&index, run % GROUPS);
        assert_int_equal(digests[run], digests[0]);
        free(memory);
    }
}

static void the_digest_depends_on_keys_and_versions_of_values(void **state)
{
    void *memory = memory_make(REGION_SIZE);
    struct index index;
    bool is_new;
    uint64_t seen[400];
    uint32_t count = 0;
    assert_true(index_init(&index, memory, REGION_SIZE, 1));
    for (uint32_t version = 0; version < 10; version++)
        for (enum index_kind kind = INDEX_VALUE; kind <= INDEX_TOMBSTONE; kind++)
            for (uint32_t size = 0; size < 20; size++) { /* all bytes are 0 */
                static const uint8_t bytes[20];
                struct index_key key = {bytes, size};
                uint64_t wide = version < 5 ? version : (uint64_t)version << 60;
                struct index_entry *entry = index_insert(&index, 0, key, wide, kind, &is_new);
                seen[count] = index_digest(&index, 0);
                for (uint32_t i = 0; kind == INDEX_VALUE && i < count; i++)
                    assert_int_not_equal(seen[count], seen[i]);
                if (kind == INDEX_TOMBSTONE)
                    assert_int_equal(seen[count], 0);
                else
                    count++;
                index_remove(&index, 0, entry);
                assert_int_equal(index_digest(&index, 0), 0);
            }
    free(memory);
}

TEST_MAIN(TEST(agrees_with_sorted_arrays_under_random_changes),
          TEST(pages_of_a_prefix_list_every_key_with_it_once), TEST(a_group_is_dropped_in_steps),
          TEST(the_digest_does_not_depend_on_the_order_of_operations),
          TEST(the_digest_depends_on_keys_and_versions_of_values))
