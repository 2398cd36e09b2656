#include "base/compare.h"

#include <stdlib.h>

#include "base/test.h"

static void the_lower_number_comes_first(void **state)
{
    assert_true(compare_u64(1, 2) < 0);
    assert_true(compare_u64(2, 1) > 0);
    assert_int_equal(compare_u64(2, 2), 0);
    /* The difference of these numbers, cut to an int, has the wrong sign or is 0. */
    assert_true(compare_u64(0, UINT64_MAX) < 0);
    assert_true(compare_u64(UINT64_C(1) << 32, 0) > 0);
}

static void the_smaller_and_the_larger_are_found(void **state)
{
    assert_int_equal(least_u32(3, UINT32_MAX), 3);
    assert_int_equal(least_u32(4, 3), 3);
    assert_int_equal(most_u32(3, UINT32_MAX), UINT32_MAX);
    assert_int_equal(most_u32(4, 3), 4);
    assert_true(least_u64(UINT64_MAX, 1) == 1 && least_u64(1, 2) == 1);
    assert_true(most_u64(UINT64_MAX, 1) == UINT64_MAX && most_u64(1, 2) == 2);
    assert_true(least_i64(-1, 1) == -1 && least_i64(INT64_MAX, 1) == 1);
    assert_true(most_i64(-1, 1) == 1 && most_i64(INT64_MAX, 1) == INT64_MAX);
}

static void numbers_are_sorted_and_found(void **state)
{
    uint64_t numbers[] = {7, UINT64_MAX, 0, 7, UINT64_C(1) << 63, 3}, wanted = UINT64_C(1) << 63;
    const uint64_t sorted[] = {0, 3, 7, 7, UINT64_C(1) << 63, UINT64_MAX};
    qsort(numbers, 6, sizeof *numbers, compare_u64_items);
    assert_memory_equal(numbers, sorted, sizeof sorted);
    assert_ptr_equal(bsearch(&wanted, numbers, 6, sizeof wanted, compare_u64_items), &numbers[4]);
}

TEST_MAIN(TEST(the_lower_number_comes_first), TEST(the_smaller_and_the_larger_are_found),
          TEST(numbers_are_sorted_and_found))
