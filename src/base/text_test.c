#include "base/text.h"

#include <string.h>

#include "base/test.h"

static void pieces_are_joined(void **state)
{
    struct text text = {0};
    text_puts(&text, "a");
    text_printf(&text, "%d-%s", 42, "b");
    text_add(&text, "xyz", 2);
    assert_true(text_ok(&text));
    assert_string_equal(text.data, "a42-bxy");
    assert_int_equal(text.size, 7);
    text_fini(&text);
    assert_null(text.data);
}

static void a_long_piece_is_not_cut(void **state)
{
    struct text text = {0};
    for (int i = 0; i < 10; i++)
        text_printf(&text, "%0*d", 1000, i);
    assert_int_equal(text.size, 10000);
    assert_int_equal(strlen(text.data), 10000);
    assert_int_equal(text.data[9999], '9');
    text_fini(&text);
}

static void a_refused_allocation_is_remembered(void **state)
{
    struct text text = {0};
    text_add(&text, NULL, SIZE_MAX - 16); /* no machine has this much */
    assert_false(text_ok(&text));
    text_puts(&text, "later");
    assert_false(text_ok(&text));
    assert_int_equal(text.size, 0);
    text_fini(&text);
}

static void paragraphs_are_wrapped_between_words(void **state)
{
    struct text text = {0};
    const char *words = "one two\nthree  four unbreakable_word five";
    text_wrap(&text, words, strlen(words), 2, 11);
    assert_string_equal(text.data, "  one two\n  three\n  four\n  unbreakable_word\n  five\n");
    text_fini(&text);
    text_wrap(&text, words, 7, 0, 80);
    text_wrap(&text, "", 0, 4, 80);
    assert_string_equal(text.data, "one two\n");
    text_fini(&text);
}

static void counts_use_singular_and_plural(void **state)
{
    struct text text = {0};
    for (uint64_t count = 0; count < 3; count++)
        text_count(&text, count, "switch ", "switches ");
    assert_string_equal(text.data, "0 switches 1 switch 2 switches ");
    text_fini(&text);
}

static void wide_numbers_are_decimal(void **state)
{
    struct text text = {0};
    text_wide(&text, 0);
    text_puts(&text, " ");
    text_wide(&text, UINT64_MAX);
    text_puts(&text, " ");
    text_wide(&text, ~(uint128)0);
    assert_string_equal(text.data,
                        "0 18446744073709551615 340282366920938463463374607431768211455");
    text_fini(&text);
}

TEST_MAIN(TEST(pieces_are_joined), TEST(a_long_piece_is_not_cut),
          TEST(a_refused_allocation_is_remembered), TEST(paragraphs_are_wrapped_between_words),
          TEST(counts_use_singular_and_plural), TEST(wide_numbers_are_decimal))
