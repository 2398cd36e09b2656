#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/test.h"

static void every_character_is_put_and_accepted(void **state)
{
    char bytes[4];
    for (uint32_t code = 0; code < 0x110000; code++) {
        size_t size = utf8_put(bytes, code);
        size_t valid = utf8_valid(bytes, size);
        if (code >= 0xd800 && code < 0xe000)
            assert_int_equal(valid, 0);
        else
            assert_int_equal(valid, size);
        if (size > 1)
            assert_int_equal(utf8_valid(bytes, size - 1), 0);
    }
    assert_int_equal(utf8_put(bytes, 0x20ac), 3);
    assert_memory_equal(bytes, "\xe2\x82\xac", 3);
}

static void the_position_of_invalid_bytes_is_found(void **state)
{
    static const char *const bad[] = {"ab\x80",
                                      "ab\xc0\xaf",
                                      "ab\xe0\x9f\xbf",
                                      "ab\xed\xa0\x80",
                                      "ab\xf0\x8f\xbf\xbf",
                                      "ab\xf4\x90\x80\x80",
                                      "ab\xf8\x88\x80\x80\x80",
                                      "ab\xc3("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(utf8_valid(bad[i], strlen(bad[i])), 2);
}

static void control_characters_are_those_of_unicode(void **state)
{
    for (uint32_t code = 0; code < 0x3000; code++) {
        char bytes[4];
        size_t size = utf8_put(bytes, code);
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        assert_int_equal(utf8_control(bytes, size), control ? size : 0);
        assert_int_equal(utf8_control(bytes, 0), 0);
    }
}

TEST_MAIN(TEST(control_characters_are_those_of_unicode), TEST(every_character_is_put_and_accepted),
          TEST(the_position_of_invalid_bytes_is_found))
