#include "base/bitset.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define COUNT 200

/* Compares the set with an array of one byte per number: an operation on one number never changes
 * another. */
static void a_set_contains_what_was_added(void **state)
{
    uint64_t set[4] = {0};
    uint8_t member[COUNT] = {0};
    struct rng rng = rng_make(7, 0);
    assert_int_equal(bitset_words(COUNT), 4);
    for (int turn = 0; turn < 20000; turn++) {
        size_t number = rng_below(&rng, COUNT);
        switch (rng_below(&rng, 4)) {
        case 0:
            bitset_add(set, number);
            member[number] = 1;
            break;
        case 1:
            bitset_remove(set, number);
            member[number] = 0;
            break;
        case 2:
            bitset_put(set, number, true);
            member[number] = 1;
            break;
        default:
            bitset_put(set, number, false);
            member[number] = 0;
        }
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(bitset_has(set, i), member[i]);
    }
}

static void the_number_of_words_is_exact(void **state)
{
    static const size_t known[][2] = {{0, 0},  {1, 1},   {63, 1}, {64, 1},
                                      {65, 2}, {128, 2}, {129, 3}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(bitset_words(known[i][0]), known[i][1]);
    assert_int_equal(bitset_words(SIZE_MAX), SIZE_MAX / 64 + 1);
}

static void a_word_and_a_bit_identify_a_number(void **state)
{
    for (size_t number = 0; number < COUNT; number++) {
        uint64_t set[4] = {0};
        set[bitset_word(number)] = bitset_bit(number);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(bitset_has(set, i), i == number);
    }
}

/* Numbers are taken in order, each once, and the words are empty afterwards. */
static void numbers_are_taken_from_the_lowest_on(void **state)
{
    static const size_t numbers[] = {0, 1, 31, 32, 62, 63, 64, 127, 128, 191};
    uint64_t set[3] = {0};
    size_t count = sizeof numbers / sizeof *numbers, taken = 0;
    for (size_t i = count; i-- > 0;)
        bitset_add(set, numbers[i]);
    for (size_t word = 0; word < 3; word++)
        while (set[word]) {
            assert_true(taken < count);
            assert_int_equal(bitset_take_lowest(&set[word], word), numbers[taken++]);
        }
    assert_int_equal(taken, count);
}

TEST_MAIN(TEST(a_set_contains_what_was_added), TEST(the_number_of_words_is_exact),
          TEST(a_word_and_a_bit_identify_a_number), TEST(numbers_are_taken_from_the_lowest_on))
