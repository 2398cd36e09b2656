#include "base/array.h"

#include <stdlib.h>

#include "base/test.h"

static void new_items_are_zero(void **state)
{
    uint32_t *items = array_new(1000, sizeof *items);
    assert_non_null(items);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], 0);
    free(items);
}

static void a_product_that_overflows_is_refused(void **state)
{
    assert_null(array_new(SIZE_MAX / 2, 16));
}

static void growing_keeps_the_items(void **state)
{
    uint64_t *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 5000; i++) {
        assert_true(array_reserve(&items, &capacity, i + 1, sizeof *items));
        items[i] = i * i;
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], i * i);
    free(items);
}

static void growing_beyond_memory_changes_nothing(void **state)
{
    uint64_t *items = NULL;
    size_t capacity = 0;
    assert_true(array_reserve(&items, &capacity, 4, sizeof *items));
    uint64_t *before = items;
    size_t room = capacity;
    assert_false(array_reserve(&items, &capacity, SIZE_MAX - 1, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, room);
    free(items);
}

TEST_MAIN(TEST(new_items_are_zero), TEST(a_product_that_overflows_is_refused),
          TEST(growing_keeps_the_items), TEST(growing_beyond_memory_changes_nothing))
