#include "node/links/hello.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/test.h"

static uint8_t bytes[PACKET_PAYLOAD_MAX + 1];

/* Appends a valid hash to a message of that size, as an attacker can. */
static void tail_forge(size_t size)
{
    struct writer out = writer_make(bytes + size - HELLO_TAIL, HELLO_TAIL);
    write_u64(&out, hash_bytes(bytes, size - HELLO_TAIL));
}

static unsigned type_of(uint8_t type, size_t size)
{
    memset(bytes, 0, sizeof bytes);
    bytes[0] = type;
    tail_forge(size);
    return hello_type(bytes, size);
}

/* Readers of a message rely on the size that its type implies. */
static void sizes_and_types_must_agree(void **state)
{
    for (size_t size = HELLO_TAIL + 1; size < 100; size++) {
        assert_int_equal(type_of(HELLO, size), size == HELLO_SIZE ? HELLO : 0);
        assert_int_equal(type_of(HELLO_SEEN, size), size == HELLO_SEEN_SIZE ? HELLO_SEEN : 0);
        assert_int_equal(type_of(HELLO_ROWS, size), size >= hello_rows_size(0) ? HELLO_ROWS : 0);
    }
    for (unsigned type = 0; type < 256; type++)
        if (type != HELLO && type != HELLO_ROWS && type != HELLO_SEEN) {
            assert_int_equal(type_of((uint8_t)type, HELLO_SIZE), 0);
            assert_int_equal(type_of((uint8_t)type, HELLO_SEEN_SIZE), 0);
        }
}

static void a_message_with_another_hash_is_damaged(void **state)
{
    assert_int_equal(type_of(HELLO, HELLO_SIZE), HELLO);
    bytes[HELLO_SIZE - 1] ^= 1;
    assert_int_equal(hello_type(bytes, HELLO_SIZE), 0);
}

/* The message holds exactly as many rows as its head says. */
static void rows_must_fill_their_message_exactly(void **state)
{
    struct hello_rows rows = {.count = 2}, read;
    const struct link_report reports[2] = {{0}};
    memset(bytes, 0, sizeof bytes);
    hello_rows_write(&rows, reports, bytes);
    for (size_t size = hello_rows_size(0); size <= hello_rows_size(4); size++)
        assert_int_equal(hello_rows_read(bytes, size, &read), size == hello_rows_size(2));
}

TEST_MAIN(TEST(sizes_and_types_must_agree), TEST(a_message_with_another_hash_is_damaged),
          TEST(rows_must_fill_their_message_exactly))
