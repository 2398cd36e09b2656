/* attach: messages are read as they were written; a wrong size, service or version is refused. */
#include "wire/attach.h"

#include <errno.h>

#include "base/test.h"

static void only_valid_requests_are_read(void **state)
{
    uint8_t bytes[ATTACH_ASK_SIZE + 1] = {0};
    struct attach_ask ask;
    attach_ask_write(&(struct attach_ask){.slots = 512, .bytes = 1 << 19}, bytes);
    assert_int_equal(attach_ask_read(&ask, bytes, ATTACH_ASK_SIZE), 0);
    assert_int_equal(ask.slots, 512);
    assert_int_equal(ask.bytes, 1 << 19);
    for (size_t size = 0; size < ATTACH_ASK_SIZE; size++)
        assert_int_equal(attach_ask_read(&ask, bytes, size), -EPROTO);
    assert_int_equal(attach_ask_read(&ask, bytes, sizeof bytes), -EPROTO);
    bytes[3]++; /* the version */
    assert_int_equal(attach_ask_read(&ask, bytes, ATTACH_ASK_SIZE), -EOPNOTSUPP);
    bytes[0] = 0;
    assert_int_equal(attach_ask_read(&ask, bytes, ATTACH_ASK_SIZE), -EPROTO);
}

static void only_valid_answers_are_read(void **state)
{
    uint8_t bytes[ATTACH_ANSWER_SIZE + 1] = {0};
    uint16_t status;
    attach_answer_write(EOPNOTSUPP, bytes);
    assert_int_equal(attach_answer_read(&status, bytes, ATTACH_ANSWER_SIZE), 0);
    assert_int_equal(status, EOPNOTSUPP);
    for (size_t size = 0; size < ATTACH_ANSWER_SIZE; size++)
        assert_int_equal(attach_answer_read(&status, bytes, size), -EPROTO);
    assert_int_equal(attach_answer_read(&status, bytes, sizeof bytes), -EPROTO);
    bytes[1] = 0;
    assert_int_equal(attach_answer_read(&status, bytes, ATTACH_ANSWER_SIZE), -EPROTO);
}

TEST_MAIN(TEST(only_valid_requests_are_read), TEST(only_valid_answers_are_read))
