#include <string.h>

#include "base/test.h"
#include "keyspace/keyspace.h"

static void the_hash_is_sha_1(void **state)
{
    /* The examples of FIPS 180. */
    char text[2 * KEY_SIZE + 1];
    struct key key = key_hash("abc", 3);
    key_text(&key, text);
    assert_string_equal(text, "a9993e364706816aba3e25717850c26c9cd0d89d");
    key = key_hash("", 0);
    key_text(&key, text);
    assert_string_equal(text, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    const char *longer = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    key = key_hash(longer, (uint32_t)strlen(longer));
    key_text(&key, text);
    assert_string_equal(text, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

static void the_last_eight_bytes_decide_the_route(void **state)
{
    struct key key = key_hash("abc", 3);
    assert_true(key_route(&key) == 0x7850c26c9cd0d89du);
    struct key made = key_make(0x0123456789abcdefu);
    assert_true(key_route(&made) == 0x0123456789abcdefu);
    for (int i = 0; i < KEY_SIZE - 8; i++)
        assert_int_equal(made.bytes[i], 0);
}

static void a_key_survives_text_and_parse(void **state)
{
    struct key key, read;
    char text[2 * KEY_SIZE + 1];
    for (uint32_t i = 0; i < 100; i++) {
        key = key_hash(&i, sizeof i);
        key_text(&key, text);
        assert_true(key_parse(&read, text));
        assert_memory_equal(&key, &read, sizeof key);
    }
    assert_true(key_parse(&key, "f0A"));
    assert_true(key_route(&key) == 0xf0a);
    assert_true(key_parse(&key, "0123456789abcdef"));
    assert_true(key_route(&key) == 0x0123456789abcdefu);
    assert_true(key_parse(&key, "ABCDEF"));
    assert_true(key_route(&key) == 0xabcdef);
    assert_true(key_parse(&key, "0"));
    assert_true(key_route(&key) == 0);
}

static void malformed_keys_are_rejected(void **state)
{
    struct key key = key_make(5);
    static const char *const bad[] = {
        "",  "g",    "G",  "@",  "`",  "/",
        ":", "0x12", " 1", "1 ", "-1", "01234567890123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(key_parse(&key, bad[i]));
    assert_true(key_route(&key) == 5); /* unchanged */
}

TEST_MAIN(TEST(the_hash_is_sha_1), TEST(the_last_eight_bytes_decide_the_route),
          TEST(a_key_survives_text_and_parse), TEST(malformed_keys_are_rejected))
