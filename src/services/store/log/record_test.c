#include "services/store/log/record.h"

#include "base/digest.h"
#include "base/rng.h"
#include "base/test.h"

#include <string.h>

#define SALT UINT64_C(0x1234567890abcdef)

static const struct log_place here = {7, 1000};

static struct record sample(const char *key, const char *value)
{
    return (struct record){
        .kind = RECORD_VALUE,
        .group = 1234,
        .flags = 0xdeadbeef,
        .request = 77,
        .client = UINT64_MAX - 5,
        .version = UINT64_C(3) << 40 | 9,
        .expiry = -12345,
        .durable = {6, 55},
        .key = key,
        .key_size = (uint8_t)strlen(key),
        .value = value,
        .value_size = (uint32_t)strlen(value),
        .digest = digest_bytes(value, strlen(value)),
    };
}

static void a_record_is_read_as_written(void **state)
{
    uint8_t bytes[RECORD_TOP_MAX];
    struct record record = sample("name", "value"), read;
    size_t size = record_write(&record, here, SALT, bytes);
    assert_int_equal(size, RECORD_HEAD + 4);
    assert_true(record_read(&read, bytes, size, here, SALT));
    assert_memory_equal(read.key, "name", 4);
    assert_true(record_fits(&read, "value"));
    assert_false(record_fits(&read, "Value"));
    assert_true(read.kind == record.kind && read.group == record.group &&
                read.flags == record.flags && read.request == record.request &&
                read.client == record.client && read.version == record.version &&
                read.expiry == record.expiry && read.durable.segment == 6 &&
                read.durable.unit == 55 && read.value_size == 5 && read.key_size == 4);
}

static void keys_and_values_may_be_empty_or_of_full_length(void **state)
{
    static char key[RECORD_KEY_MAX];
    uint8_t bytes[RECORD_TOP_MAX];
    struct record read,
        record = {.kind = RECORD_TOMBSTONE, .key = key, .digest = digest_bytes(NULL, 0)};
    memset(key, 0xff, sizeof key);
    for (unsigned size = 0; size <= RECORD_KEY_MAX; size += RECORD_KEY_MAX) {
        record.key_size = (uint8_t)size;
        assert_int_equal(record_write(&record, here, SALT, bytes), RECORD_HEAD + size);
        assert_true(record_read(&read, bytes, RECORD_HEAD + size, here, SALT));
        assert_int_equal(read.key_size, size);
        assert_true(record_fits(&read, NULL));
    }
}

/* A disk returns other bytes, or the bytes of another place. */
static void no_changed_bit_goes_unnoticed(void **state)
{
    uint8_t bytes[RECORD_TOP_MAX];
    struct record record = sample("a key", "v"), read;
    size_t size = record_write(&record, here, SALT, bytes);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(record_read(&read, bytes, size, here, SALT));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t less = 0; less < size; less++)
        assert_false(record_read(&read, bytes, less, here, SALT));
    assert_false(record_read(&read, bytes, size, (struct log_place){7, 1001}, SALT));
    assert_false(record_read(&read, bytes, size, (struct log_place){8, 1000}, SALT));
    assert_false(record_read(&read, bytes, size, here, SALT + 1));
    assert_true(record_read(&read, bytes, size, here, SALT));
}

static void a_record_cannot_declare_durable_what_follows_it(void **state)
{
    uint8_t bytes[RECORD_TOP_MAX];
    struct record record = sample("k", "v"), read;
    record.durable = (struct log_place){7, 1001};
    size_t size = record_write(&record, here, SALT, bytes);
    assert_false(record_read(&read, bytes, size, here, SALT));
    record.durable = here;
    size = record_write(&record, here, SALT, bytes);
    assert_true(record_read(&read, bytes, size, here, SALT));
}

static void random_bytes_are_no_record(void **state)
{
    struct rng rng = rng_make(1, 1);
    uint8_t bytes[RECORD_TOP_MAX];
    struct record read;
    for (unsigned i = 0; i < 100000; i++) {
        for (unsigned j = 0; j < sizeof bytes; j += 8) {
            uint64_t word = rng_next(&rng);
            memcpy(bytes + j, &word, sizeof bytes - j < 8 ? sizeof bytes - j : 8);
        }
        bytes[4] = RECORD_VALUE; /* as far as the cheap tests look */
        bytes[5] %= RECORD_KEY_MAX;
        bytes[6] = bytes[7] = 0;
        assert_false(record_read(&read, bytes, sizeof bytes, here, SALT));
    }
}

static void the_head_of_a_segment_is_read_as_written(void **state)
{
    uint8_t bytes[RECORD_HEAD];
    struct segment_head head = {.id = 9, .salt = SALT, .before = {8, 4711}}, read = {0};
    segment_head_write(&head, bytes);
    assert_int_equal(segment_head_read(&read, bytes, sizeof bytes, 9), SEGMENT_OURS);
    assert_int_equal(read.id, head.id);
    assert_true(read.salt == SALT && read.before.segment == 8 && read.before.unit == 4711);
    assert_int_equal(segment_head_read(&read, bytes, sizeof bytes, 8), SEGMENT_NONE);
    assert_int_equal(segment_head_read(&read, bytes, sizeof bytes - 1, 9), SEGMENT_NONE);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(segment_head_read(&read, bytes, sizeof bytes, 9), SEGMENT_NONE);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(segment_head_read(&read, bytes, sizeof bytes, 0), SEGMENT_NONE);
}

/* The number of the segment is the only difference between a file and itself after recycling. */
static void a_recycled_file_has_neither_head_nor_records(void **state)
{
    uint8_t bytes[RECORD_TOP_MAX];
    struct segment_head head = {.id = 9, .salt = SALT, .before = {8, 4711}}, read = {0};
    segment_head_write(&head, bytes);
    assert_int_equal(segment_head_read(&read, bytes, RECORD_HEAD, 10), SEGMENT_FORMER);
    assert_int_equal(read.id, 9);
    for (size_t bit = 0; bit < 8 * RECORD_HEAD; bit++) { /* damage is no recycled file */
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(segment_head_read(&read, bytes, RECORD_HEAD, 10), SEGMENT_NONE);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    struct record record = sample("k", "v"), found;
    size_t size = record_write(&record, here, SALT, bytes);
    for (uint32_t id = here.segment + 1; id < here.segment + 10000; id++) {
        assert_false(record_read(&found, bytes, size, (struct log_place){id, here.unit}, SALT));
        assert_false(record_read(&found, bytes, size, here, SALT + id));
    }
}

TEST_MAIN(TEST(a_record_is_read_as_written), TEST(keys_and_values_may_be_empty_or_of_full_length),
          TEST(no_changed_bit_goes_unnoticed),
          TEST(a_record_cannot_declare_durable_what_follows_it), TEST(random_bytes_are_no_record),
          TEST(the_head_of_a_segment_is_read_as_written),
          TEST(a_recycled_file_has_neither_head_nor_records))
