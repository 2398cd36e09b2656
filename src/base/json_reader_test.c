#include "base/json_reader.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

/* Writes the events of a document as letters, each followed by the text of its value. */
static enum err trace(const char *data, size_t size, struct text *out, struct why *why)
{
    static const char letters[] = "$o}a]ksntf0N";
    struct json_reader reader;
    enum err err;
    json_reader_init(&reader, "x.json", data, size, why);
    while (!(err = json_reader_next(&reader)) && reader.event != JSON_END) {
        text_printf(out, "%c", letters[reader.event]);
        if (reader.event == JSON_KEY || reader.event == JSON_STRING || reader.event == JSON_NUMBER)
            text_printf(out, "%s ", reader.text.data);
    }
    json_reader_fini(&reader);
    return err;
}

static void events_follow_the_document(void **state)
{
    static const struct {
        const char *document, *events;
    } table[] = {
        {"{}", "o}"},
        {" [1, -2.5e+3,\n0] ", "an1 n-2.5e+3 n0 ]"},
        {"{\"a\": [true, false, null], \"b\": {\"c\": \"\"}}", "oka atf0]kb okc s }}"},
        {"[NaN, Infinity, -Infinity]", "aNNN]"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s\"\\/\b\f\n\r\t "},
        {"\"\\u00e9\\u20ac\\ud83d\\ude00\"", "s\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "},
        {"\"\xc3\xa9\"", "s\xc3\xa9 "},
        {"[[],[[]],{}]", "aa]aa]]o}]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text out = {0};
        struct why why = {""};
        assert_int_equal(trace(table[i].document, strlen(table[i].document), &out, &why), OK);
        assert_string_equal(out.data, table[i].events);
        text_fini(&out);
    }
}

static void invalid_json_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *document, *reason;
    } table[] = {
        {"", "line 1: the file ends where a value should be"},
        {"[1,\n2\n", "line 3: the file ends where a comma or ] should be"},
        {"{\"a\" 1}", "line 1: '1' where a colon after a key should be"},
        {"{\n\"a\": 1,}", "line 2: '}' where a key in quotes should be"},
        {"{a: 1}", "line 1: 'a' where a key in quotes should be"},
        {"[1 2]", "line 1: '2' where a comma or ] should be"},
        {"[1,]", "line 1: ']' where a value should be"},
        {"{} x", "line 1: 'x' where the end of the file should be"},
        {"[01]", "line 1: '1' where the end of a number that begins with 0 should be"},
        {"[1.]", "line 1: ']' where a digit should be"},
        {"[-]", "line 1: ']' where a digit should be"},
        {"[1e]", "line 1: ']' where a digit should be"},
        {"[.5]", "line 1: '.' where a value should be"},
        {"[tru]", "line 1: 't' where a value should be"},
        {"\"a\nb\"", "line 1: byte 0x0a where the end of a string should be"},
        {"\"abc", "line 1: the file ends where the end of a string should be"},
        {"\"\\x\"", "line 1: 'x' where a known escape after \\ should be"},
        {"\"\\u12g4\"", "line 1: 'g' where one of the four hexadecimal digits of \\u should be"},
        {"\"\\ud800x\"", "line 1: half of a surrogate pair"},
        {"\"\\udc00\"", "line 1: the second half of a surrogate pair without its first"},
        {"\"\\u0000\"", "line 1: a zero character in a string"},
        {"\"\xff\"", "line 1: byte 0xff where UTF-8 should be"},
        {"[}", "line 1: '}' where a value should be"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text out = {0};
        struct why why = {""};
        char expected[160];
        snprintf(expected, sizeof expected, "x.json: %s", table[i].reason);
        assert_int_equal(trace(table[i].document, strlen(table[i].document), &out, &why),
                         ERR_INPUT);
        assert_string_equal(why.text, expected);
        text_fini(&out);
    }
}

static void items_are_read_until_their_container_ends(void **state)
{
    struct why why;
    struct json_reader reader;
    const char *data = "{\"a\": [1, [], {}], \"b\": 2}";
    unsigned keys = 0, items = 0;
    json_reader_init(&reader, "test", data, strlen(data), &why);
    enum err err = json_reader_expect(&reader, JSON_OBJECT, "the file");
    for (; keys < 9 && json_reader_more(&reader, &err); keys++) {
        err = json_reader_next(&reader);
        while (keys == 0 && items < 9 && json_reader_more(&reader, &err)) {
            items++;
            err = json_reader_skip(&reader);
        }
    }
    assert_int_equal(err, OK);
    assert_int_equal(keys, 2);
    assert_int_equal(items, 3);
    assert_int_equal(reader.event, JSON_OBJECT_END);
    assert_int_equal(json_reader_next(&reader), OK);
    err = ERR_USAGE; /* an error of the caller: nothing more is read */
    assert_false(json_reader_more(&reader, &err));
    assert_int_equal(err, ERR_USAGE);
    json_reader_fini(&reader);
}

static void an_error_ends_the_items(void **state)
{
    struct why why;
    struct json_reader reader;
    json_reader_init(&reader, "test", "[1, }", 5, &why);
    enum err err = json_reader_expect(&reader, JSON_ARRAY, "the file");
    assert_true(json_reader_more(&reader, &err));
    assert_false(json_reader_more(&reader, &err));
    assert_int_equal(err, ERR_INPUT);
    json_reader_fini(&reader);
}

static void depth_is_bounded(void **state)
{
    char deep[2 * JSON_READER_DEPTH_MAX + 2];
    for (int over = 0; over < 2; over++) {
        size_t levels = JSON_READER_DEPTH_MAX + (size_t)over;
        struct text out = {0};
        struct why why = {""};
        memset(deep, '[', levels);
        memset(deep + levels, ']', levels);
        assert_int_equal(trace(deep, 2 * levels, &out, &why), over ? ERR_INPUT : OK);
        text_fini(&out);
    }
}

static void typed_values_are_checked(void **state)
{
    static const char document[] = "{\"a\": 4294967295, \"b\": true, \"skip\": [{\"x\": [1]}, 2],\n"
                                   "\"c\": 4294967296}";
    struct json_reader reader;
    struct why why = {""};
    bool flag = false;
    json_reader_init(&reader, "x.json", document, sizeof document - 1, &why);
    assert_int_equal(json_reader_expect(&reader, JSON_OBJECT, "the file"), OK);
    assert_int_equal(json_reader_next(&reader), OK);
    assert_true(json_reader_is(&reader, "a"));
    assert_int_equal(json_reader_expect(&reader, JSON_NUMBER, "a"), OK);
    assert_string_equal(reader.text.data, "4294967295");
    assert_int_equal(json_reader_next(&reader), OK);
    assert_int_equal(json_reader_bool(&reader, "b", &flag), OK);
    assert_true(flag);
    assert_int_equal(json_reader_next(&reader), OK);
    assert_int_equal(json_reader_next(&reader), OK);
    assert_int_equal(json_reader_skip(&reader), OK);
    assert_int_equal(json_reader_next(&reader), OK);
    assert_true(json_reader_is(&reader, "c"));
    assert_int_equal(json_reader_bool(&reader, "c", &flag), ERR_INPUT);
    assert_string_equal(why.text, "x.json: line 2: c should be true or false");
    json_reader_fini(&reader);
}

TEST_MAIN(TEST(events_follow_the_document), TEST(invalid_json_is_refused_with_its_line),
          TEST(items_are_read_until_their_container_ends), TEST(an_error_ends_the_items),
          TEST(depth_is_bounded), TEST(typed_values_are_checked))
