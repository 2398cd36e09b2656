/* Writes parts and what the server says, reads them again, cuts them off at each byte, and changes
 * one field at a time to nonsense. */
#include "wire/store_parts.h"

#include <string.h>

#include "base/test.h"

#define ROOM 200

static const uint8_t bytes[] = "0123456789";

static void parts_of_a_value_have_nearly_one_size(void **state)
{
    (void)state;
    const uint32_t sizes[] = {
        1,       STORE_PART_MAX,         STORE_PART_MAX + 1, STORE_SINGLE_MAX + 1,
        1 << 20, 3 * STORE_PART_MAX - 1, STORE_VALUE_MAX};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t count = 0, least = UINT32_MAX, most = 0;
        for (uint32_t at = 0; at < sizes[i]; count++) {
            uint32_t size = store_part_size(sizes[i], at);
            least = size < least ? size : least;
            most = size > most ? size : most;
            at += size;
        }
        assert_int_equal(count, store_part_count(sizes[i]));
        assert_true(most <= STORE_PART_MAX && most - least < count);
        /* They all take the same way. */
        assert_true(sizes[i] <= STORE_SINGLE_MAX || least > STORE_PART_MAX / 2);
    }
}

static void a_part_is_read_as_it_was_written(void **state)
{
    (void)state;
    uint8_t out[ROOM];
    struct store_part read;
    const struct store_part part = {.name = UINT64_C(0x123456789abcdef0),
                                    .offset = 77777,
                                    .last = true,
                                    .again = true,
                                    .patience = 123456789,
                                    .size = 10,
                                    .bytes = bytes};
    size_t size = store_part_write(&part, out, sizeof out);
    assert_int_equal(size, STORE_PART_HEAD + 10);
    assert_int_equal(store_part_write(&part, out, size - 1), 0);
    assert_true(store_part_read(&read, out, size));
    assert_true(read.name == part.name && read.offset == part.offset && read.last && read.again);
    assert_true(read.patience == part.patience && read.size == 10);
    assert_memory_equal(read.bytes, bytes, 10);
    for (size_t i = 0; i < size; i++)
        assert_false(store_part_read(&read, out, i));
    assert_false(store_part_read(&read, out, size + 1));
}

static void a_part_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    uint8_t out[ROOM];
    struct store_part read, part = {.name = 1, .patience = 1, .size = 10, .bytes = bytes};
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        struct store_part wrong = part;                                                            \
        wrong.field = value;                                                                       \
        size_t size = store_part_write(&wrong, out, sizeof out);                                   \
        assert_false(store_part_read(&read, out, size));                                           \
    } while (0)
    REFUSED(size, 0);
    REFUSED(patience, 0);
    REFUSED(patience, -1);
    REFUSED(offset, STORE_VALUE_MAX);
    REFUSED(offset, STORE_VALUE_MAX - 9);
    REFUSED(offset, UINT32_MAX);
    size_t size = store_part_write(&part, out, sizeof out);
    assert_true(store_part_read(&read, out, size));
    out[12] = 2; /* last */
    assert_false(store_part_read(&read, out, size));
}

static void a_saying_is_read_as_it_was_written(void **state)
{
    (void)state;
    const struct store_saying sayings[] = {
        {.word = STORE_SAYS_SEND, .name = 99},
        {.word = STORE_SAYS_WAIT},
        {.word = STORE_SAYS_AGAIN},
        {.word = STORE_SAYS_PART,
         .answer = {.status = STORE_DONE, .flags = 7, .version = 8, .value_size = 1000},
         .offset = 990,
         .size = 10,
         .bytes = bytes},
    };
    for (unsigned i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        const struct store_saying *saying = &sayings[i];
        struct store_saying read;
        struct store_answer answer;
        uint8_t out[ROOM];
        size_t size = store_saying_write(saying, out, sizeof out);
        assert_true(size && store_is_saying(out, size));
        assert_false(store_answer_read(&answer, out, size));
        assert_int_equal(store_saying_write(saying, out, size - 1), 0);
        assert_true(store_saying_read(&read, out, size));
        assert_true(read.word == saying->word && read.name == saying->name);
        assert_true(read.offset == saying->offset && read.size == saying->size);
        assert_true(read.answer.flags == saying->answer.flags &&
                    read.answer.version == saying->answer.version &&
                    read.answer.value_size == saying->answer.value_size);
        if (saying->size)
            assert_memory_equal(read.bytes, bytes, saying->size);
        for (size_t j = 0; j < size; j++)
            assert_false(store_saying_read(&read, out, j) && read.word != STORE_SAYS_PART);
    }
}

static void a_saying_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    uint8_t out[ROOM];
    struct store_saying read, part = {.word = STORE_SAYS_PART,
                                      .answer = {.status = STORE_DONE, .value_size = 1000},
                                      .offset = 991,
                                      .size = 10,
                                      .bytes = bytes};
    size_t size = store_saying_write(&part, out, sizeof out);
    assert_false(store_saying_read(&read, out, size)); /* beyond the value */
    part.offset = 0;
    size = store_saying_write(&part, out, sizeof out);
    assert_true(store_saying_read(&read, out, size));
    out[0] = STORE_SAYS_PART + 1;
    assert_false(store_saying_read(&read, out, size));
    part.answer = (struct store_answer){.status = STORE_ABSENT};
    size = store_saying_write(&part, out, sizeof out);
    assert_false(store_saying_read(&read, out, size));
    out[0] = STORE_DONE;
    assert_false(store_is_saying(out, 1));
    assert_false(store_is_saying(out, 0));
}

TEST_MAIN(TEST(parts_of_a_value_have_nearly_one_size), TEST(a_part_is_read_as_it_was_written),
          TEST(a_part_that_makes_no_sense_is_refused), TEST(a_saying_is_read_as_it_was_written),
          TEST(a_saying_that_makes_no_sense_is_refused))
