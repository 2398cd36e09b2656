#include "cli/core/result.h"

#include <string.h>

#include "base/test.h"

static void expect_json(struct result *result, const char *expected)
{
    struct text out = {0};
    result_json(result, &out);
    assert_true(text_ok(&out));
    assert_string_equal(out.data, expected);
    text_fini(&out);
    result_fini(result);
}

static void values_keep_their_order_and_kind(void **state)
{
    struct result result = {0};
    result_begin(&result, "");
    result_string(&result, "name", "a \"b\"");
    result_uint(&result, "most", UINT64_MAX);
    result_number(&result, "share", 0.1);
    result_number(&result, "unknown", NAN);
    result_bool(&result, "clean", true);
    result_string(&result, "file", NULL);
    result_uint_if(&result, "pid", false, 7);
    result_uint_if(&result, "port", true, 0);
    result_wide(&result, "paths", ((uint128)1 << 64) + 5);
    text_printf(result_words(&result, "hash"), "%04x", 0xabu);
    expect_json(&result, "{\n"
                         "  \"name\": \"a \\\"b\\\"\",\n"
                         "  \"most\": 18446744073709551615,\n"
                         "  \"share\": 0.1,\n"
                         "  \"unknown\": null,\n"
                         "  \"clean\": true,\n"
                         "  \"file\": null,\n"
                         "  \"pid\": null,\n"
                         "  \"port\": 0,\n"
                         "  \"paths\": 18446744073709551621,\n"
                         "  \"hash\": \"00ab\"\n"
                         "}\n");
}

static void objects_and_arrays_nest(void **state)
{
    struct result result = {0};
    result_begin(&result, "");
    result_array(&result, "rows");
    for (unsigned i = 0; i < 2; i++) {
        result_object(result_flat(&result), NULL);
        result_uint(&result, "id", i);
        result_array(&result, "of");
        result_string(&result, NULL, "x");
        result_end(&result);
        result_end(&result);
    }
    result_end(&result);
    result_object(&result, "empty");
    result_end(&result);
    result_bool(&result, "last", false);
    expect_json(&result, "{\n"
                         "  \"rows\": [\n"
                         "    {\"id\": 0, \"of\": [\"x\"]},\n"
                         "    {\"id\": 1, \"of\": [\"x\"]}\n"
                         "  ],\n"
                         "  \"empty\": {},\n"
                         "  \"last\": false\n"
                         "}\n");
}

static void json_leaves_hidden_values_out(void **state)
{
    struct result result = {0};
    result_begin(&result, "");
    result_string(result_hide(&result), "title", "only for people");
    result_array(result_hide(&result), "lines");
    result_uint(&result, NULL, 1);
    result_end(&result);
    result_uint(&result, "seen", 2);
    expect_json(&result, "{\n  \"seen\": 2\n}\n");
}

static void copied_keys_outlive_their_source(void **state)
{
    struct result result = {0};
    char key[8] = "one";
    result_begin(&result, "");
    result_uint(&result, result_copy(&result, key), 1);
    strcpy(key, "two");
    result_uint(&result, result_copy(&result, key), 2);
    strcpy(key, "gone");
    expect_json(&result, "{\n  \"one\": 1,\n  \"two\": 2\n}\n");
}

static void many_values_fit(void **state)
{
    struct result result = {0};
    struct text out = {0};
    result_begin(&result, "");
    result_array(&result, "numbers");
    for (unsigned i = 0; i < 1000; i++)
        text_printf(result_words(&result, NULL), "value %u", i);
    result_end(&result);
    result_json(&result, &out);
    assert_non_null(strstr(out.data, "\"value 999\"\n  ]\n}\n"));
    text_fini(&out);
    result_fini(&result);
}

TEST_MAIN(TEST(values_keep_their_order_and_kind), TEST(objects_and_arrays_nest),
          TEST(json_leaves_hidden_values_out), TEST(copied_keys_outlive_their_source),
          TEST(many_values_fit))
