/* relay: what was written can be read, and everything else is refused. */
#include "wire/relay.h"

#include <errno.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static struct relay_message message_make(void)
{
    return (struct relay_message){.operation = RELAY_DATA,
                                  .kind = RELAY_KIND_FRAME,
                                  .from = {3, 1, 0x0123456789abcdefULL},
                                  .to = {UINT32_MAX - 1, 65535, 1}};
}

static void messages_are_read_as_they_were_written(void **state)
{
    static const uint8_t hello[5] = {'h', 'e', 'l', 'l', 'o'};
    uint8_t bytes[RELAY_SIZE_MAX] = {0};
    struct relay_message message = message_make(), read;
    relay_write(&message, bytes);
    memcpy(bytes + RELAY_HEAD_SIZE, hello, sizeof hello);
    assert_int_equal(relay_read(&read, bytes, RELAY_HEAD_SIZE + sizeof hello), 0);
    assert_int_equal(read.operation, RELAY_DATA);
    assert_int_equal(read.kind, RELAY_KIND_FRAME);
    assert_true(relay_address_equal(&read.from, &message.from));
    assert_true(relay_address_equal(&read.to, &message.to));
    assert_int_equal(read.size, sizeof hello);
    assert_memory_equal(read.body, hello, sizeof hello);
    assert_int_equal(relay_read(&read, bytes, RELAY_SIZE_MAX), 0);
    assert_int_equal(read.size, RELAY_BODY_MAX);
}

static void wrong_bytes_are_refused(void **state)
{
    uint8_t bytes[RELAY_SIZE_MAX + 1] = {0};
    struct relay_message message = message_make(), read;
    relay_write(&message, bytes);
    for (size_t size = 0; size < RELAY_HEAD_SIZE; size++)
        assert_int_equal(relay_read(&read, bytes, size), -EPROTO);
    assert_int_equal(relay_read(&read, bytes, RELAY_SIZE_MAX + 1), -EPROTO);
    bytes[2] = 1; /* reserved */
    assert_int_equal(relay_read(&read, bytes, RELAY_HEAD_SIZE), -EPROTO);
    bytes[2] = 0;
    bytes[0] = RELAY_OPERATION_END;
    assert_int_equal(relay_read(&read, bytes, RELAY_HEAD_SIZE), -EPROTO);
    bytes[0] = RELAY_ATTACH; /* with a body */
    assert_int_equal(relay_read(&read, bytes, RELAY_HEAD_SIZE + 1), -EPROTO);
    assert_int_equal(relay_read(&read, bytes, RELAY_HEAD_SIZE), 0);
}

static void addresses_are_written_and_read_in_16_bytes(void **state)
{
    struct relay_address address = {7, 9, 0xfedcba9876543210ULL}, read;
    uint8_t bytes[16];
    relay_address_write(&address, bytes);
    relay_address_read(&read, bytes);
    assert_true(relay_address_equal(&address, &read));
    read.life++;
    assert_false(relay_address_equal(&address, &read));
}

TEST_MAIN(TEST(messages_are_read_as_they_were_written), TEST(wrong_bytes_are_refused),
          TEST(addresses_are_written_and_read_in_16_bytes))
