#include "base/json.h"

#include <math.h>

#include "base/test.h"

static void an_object_has_commas_only_between_its_values(void **state)
{
    struct text text = {0};
    struct json json = json_make(&text, false);
    json_object(&json);
    json_put_uint(&json, "servers", 27);
    json_key(&json, "sizes");
    json_array(&json);
    json_uint(&json, 3);
    json_null(&json);
    json_end(&json, ']');
    json_put_bool(&json, "direct", true);
    json_end(&json, '}');
    assert_string_equal(text.data, "{\"servers\": 27, \"sizes\": [3, null], \"direct\": true}\n");
    text_fini(&text);
}

static void indented_items_have_their_own_lines(void **state)
{
    struct text text = {0};
    struct json json = json_make(&text, true);
    json_object(&json);
    json_put_string(&json, "name", "a");
    json_key(&json, "none");
    json_array(&json);
    json_end(&json, ']');
    json_end(&json, '}');
    assert_string_equal(text.data, "{\n  \"name\": \"a\",\n  \"none\": []\n}\n");
    text_fini(&text);
}

static void strings_are_escaped(void **state)
{
    struct text text = {0};
    struct json json = json_make(&text, false);
    json_string(&json, "a\"b\\c\nd\001\177");
    assert_string_equal(text.data, "\"a\\\"b\\\\c\\u000ad\\u0001\\u007f\"");
    text_fini(&text);
}

static void numbers_read_back_exactly_and_nan_is_null(void **state)
{
    struct text text = {0};
    struct json json = json_make(&text, false);
    json_array(&json);
    json_number(&json, 0.1);
    json_number(&json, 1.0 / 3.0);
    json_number(&json, 4);
    json_number(&json, NAN);
    json_uint(&json, UINT64_MAX);
    json_int(&json, INT64_MIN);
    json_wide(&json, (uint128)1 << 64);
    json_end(&json, ']');
    assert_string_equal(text.data, "[0.1, 0.3333333333333333, 4, null, 18446744073709551615, "
                                   "-9223372036854775808, 18446744073709551616]\n");
    text_fini(&text);
}

TEST_MAIN(TEST(an_object_has_commas_only_between_its_values),
          TEST(indented_items_have_their_own_lines), TEST(strings_are_escaped),
          TEST(numbers_read_back_exactly_and_nan_is_null))
