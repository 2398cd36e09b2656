#include "base/rng.h"

#include <string.h>

#include "base/test.h"

/* The known answers published with Random123. */
static void philox_gives_its_published_answers(void **state)
{
    uint32_t out[4];
    philox4x32((uint32_t[4]){0}, (uint32_t[2]){0}, out);
    assert_memory_equal(out, ((uint32_t[4]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), 16);
    philox4x32((uint32_t[4]){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
               (uint32_t[2]){UINT32_MAX, UINT32_MAX}, out);
    assert_memory_equal(out, ((uint32_t[4]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}), 16);
    philox4x32((uint32_t[4]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               (uint32_t[2]){0xa4093822, 0x299f31d0}, out);
    assert_memory_equal(out, ((uint32_t[4]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}), 16);
}

static void equal_streams_repeat_and_others_differ(void **state)
{
    struct rng a = rng_make(1, 0), b = rng_make(1, 1), again = rng_make(1, 0);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t draw = rng_next(&a);
        assert_int_equal(draw, rng_next(&again));
        same += draw == rng_next(&b);
    }
    assert_int_equal(same, 0);
}

/* Chi-square with 9 degrees of freedom is below 33.7 with a probability of 99.99 %. */
static void bounded_draws_are_even(void **state)
{
    struct rng rng = rng_make(7, 3);
    int count[10] = {0};
    for (int i = 0; i < 100000; i++)
        count[rng_below(&rng, 10)]++;
    double chi = 0;
    for (int i = 0; i < 10; i++)
        chi += (count[i] - 10000.0) * (count[i] - 10000.0) / 10000.0;
    assert_true(chi < 33.7);
    assert_int_equal(rng_below(&rng, 1), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

static void unit_draws_lie_in_the_unit_interval(void **state)
{
    struct rng rng = rng_make(9, 0);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double draw = rng_unit(&rng);
        assert_true(draw >= 0 && draw < 1);
        sum += draw;
    }
    assert_true(sum > 49500 && sum < 50500);
}

static void a_shuffle_keeps_every_item(void **state)
{
    uint32_t items[100], seen[100] = {0};
    for (uint32_t i = 0; i < 100; i++)
        items[i] = i;
    struct rng rng = rng_make(3, 3);
    rng_shuffle(&rng, items, 100);
    int moved = 0;
    for (uint32_t i = 0; i < 100; i++) {
        seen[items[i]]++;
        moved += items[i] != i;
    }
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 80);
}

TEST_MAIN(TEST(philox_gives_its_published_answers), TEST(equal_streams_repeat_and_others_differ),
          TEST(bounded_draws_are_even), TEST(unit_draws_lie_in_the_unit_interval),
          TEST(a_shuffle_keeps_every_item))
