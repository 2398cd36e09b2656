/* Checks that a digest is the same with and without vector instructions, and that it changes with
 * the bytes. */
#include "base/digest.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define MOST 9000

static void fill(uint8_t *bytes, size_t size, uint64_t seed)
{
    struct rng rng = rng_make(seed, 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)rng_next(&rng);
}

static void vector_instructions_change_nothing(void **state)
{
    uint8_t bytes[MOST + 64];
    fill(bytes, sizeof bytes, 1);
    for (size_t size = 0; size <= MOST; size += size < 300 ? 1 : 97)
        for (size_t at = 0; at < 64; at += 13)
            assert_true(digest_bytes(bytes + at, size) == digest_plain(bytes + at, size));
}

/* The copy has its own loops, which must write what they count, and nothing beside it. */
static void a_copy_has_the_bytes_and_their_digest(void **state)
{
    uint8_t bytes[MOST + 64], copy[MOST + 128], expected[MOST + 128];
    fill(bytes, sizeof bytes, 3);
    for (size_t size = 0; size <= MOST; size += size < 300 ? 1 : 97)
        for (size_t at = 0; at < 64; at += 13)
            for (size_t to = 0; to < 64; to += 9) {
                memset(copy, 0xa5, sizeof copy);
                memset(expected, 0xa5, sizeof expected);
                memcpy(expected + to, bytes + at, size);
                assert_true(digest_copy(copy + to, bytes + at, size) ==
                            digest_plain(bytes + at, size));
                assert_memory_equal(copy, expected, sizeof copy);
            }
}

/* Other machines compute the same numbers. */
static void pieces_have_the_digest_of_all(void **state)
{
    (void)state;
    uint8_t bytes[MOST];
    struct rng rng = rng_make(7, 0);
    fill(bytes, sizeof bytes, 5);
    for (unsigned run = 0; run < 2000; run++) {
        size_t size = rng_below(&rng, sizeof bytes + 1), at = 0;
        struct digest digest;
        digest_begin(&digest);
        while (at < size) {
            size_t part = 1 + rng_below(&rng, rng_below(&rng, 2) ? 70 : 700);
            part = part < size - at ? part : size - at;
            digest_add(&digest, bytes + at, part);
            at += part;
        }
        assert_true(digest_end(&digest) == digest_bytes(bytes, size));
    }
}

static void digests_are_the_same_on_every_machine(void **state)
{
    uint8_t bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(7 * i);
    assert_int_equal(digest_bytes(bytes, 0), 0x4a6b1e15cca976d4);
    assert_int_equal(digest_bytes(bytes, 1000), 0x82effe6ff976b6e5);
}

static void every_flipped_bit_is_found(void **state)
{
    uint8_t bytes[333];
    fill(bytes, sizeof bytes, 2);
    uint64_t digest = digest_bytes(bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true(digest_bytes(bytes, sizeof bytes) != digest);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* Words and whole stripes that trade places are damage that a plain sum would miss. */
static void order_matters(void **state)
{
    uint8_t bytes[512], other[512];
    for (size_t unit = 8; unit <= 64; unit *= 2)
        for (size_t one = 0; one < sizeof bytes / unit; one++)
            for (size_t two = 0; two < one; two++) {
                fill(bytes, sizeof bytes, one * 64 + two);
                memcpy(other, bytes, sizeof bytes);
                memcpy(other + unit * one, bytes + unit * two, unit);
                memcpy(other + unit * two, bytes + unit * one, unit);
                assert_true(digest_bytes(bytes, sizeof bytes) != digest_bytes(other, sizeof other));
            }
}

static void zeroes_of_another_length_differ(void **state)
{
    uint8_t bytes[300] = {0};
    for (size_t size = 0; size < sizeof bytes; size++)
        assert_true(digest_bytes(bytes, size) != digest_bytes(bytes, size + 1));
}

TEST_MAIN(TEST(vector_instructions_change_nothing), TEST(a_copy_has_the_bytes_and_their_digest),
          TEST(pieces_have_the_digest_of_all), TEST(digests_are_the_same_on_every_machine),
          TEST(every_flipped_bit_is_found), TEST(order_matters),
          TEST(zeroes_of_another_length_differ))
