#include "base/name_index.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static void names_are_numbered_in_order_and_found_again(void **state)
{
    enum { COUNT = 20000 };
    struct name_index index = {0};
    char name[16];
    uint32_t number;
    assert_int_equal(name_index_find(&index, "0", 1), NAME_NONE);
    for (uint32_t i = 0; i < COUNT; i++) {
        int size = snprintf(name, sizeof name, "%u", i * 7);
        assert_true(name_index_add(&index, name, (size_t)size, &number));
        assert_int_equal(number, i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        int size = snprintf(name, sizeof name, "%u", i * 7);
        assert_int_equal(name_index_find(&index, name, (size_t)size), i);
        assert_true(name_index_add(&index, name, (size_t)size, &number));
        assert_int_equal(number, i);
        assert_string_equal(name_index_text(&index, i), name);
        size = snprintf(name, sizeof name, "%u", i * 7 + 1);
        assert_int_equal(name_index_find(&index, name, (size_t)size), NAME_NONE);
    }
    assert_int_equal(index.count, COUNT);
    name_index_fini(&index);
}

static void names_may_contain_each_other(void **state)
{
    struct name_index index = {0};
    uint32_t empty, one, two;
    assert_true(name_index_add(&index, "", 0, &empty));
    assert_true(name_index_add(&index, "ab", 1, &one));
    assert_true(name_index_add(&index, "ab", 2, &two));
    assert_int_equal(empty, 0);
    assert_int_equal(one, 1);
    assert_int_equal(two, 2);
    assert_string_equal(name_index_text(&index, empty), "");
    assert_int_equal(name_index_find(&index, "abc", 3), NAME_NONE);
    name_index_fini(&index);
}

TEST_MAIN(TEST(names_are_numbered_in_order_and_found_again), TEST(names_may_contain_each_other))
