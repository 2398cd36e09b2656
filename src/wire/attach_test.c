/* attach: messages are read as they were written; a wrong size, service or version is refused. */
#include "wire/attach.h"

#include <errno.h>

#include "base/test.h"

static void only_valid_hellos_are_read(void **state)
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
    bytes[3]--; /* the version */
    assert_int_equal(attach_ask_read(&ask, bytes, ATTACH_ASK_SIZE), -EPROTONOSUPPORT);
    bytes[0] = 0;
    assert_int_equal(attach_ask_read(&ask, bytes, ATTACH_ASK_SIZE), -EPROTO);
}

static void only_valid_welcomes_are_read(void **state)
{
    uint8_t bytes[ATTACH_ANSWER_SIZE + 1] = {0};
    struct attach_answer answer;
    attach_answer_write(&(struct attach_answer){EUSERS, ATTACH_VERSION, EOPNOTSUPP, 77}, bytes);
    assert_int_equal(attach_answer_read(&answer, bytes, ATTACH_ANSWER_SIZE), 0);
    assert_int_equal(answer.status, EUSERS);
    assert_int_equal(answer.version, ATTACH_VERSION);
    assert_int_equal(answer.memory, EOPNOTSUPP);
    assert_int_equal(answer.server, 77);
    for (size_t size = 0; size < ATTACH_ANSWER_SIZE; size++)
        if (size != 4)
            assert_int_equal(attach_answer_read(&answer, bytes, size), -EPROTO);
    assert_int_equal(attach_answer_read(&answer, bytes, sizeof bytes), -EPROTO);
    bytes[1] = 0;
    assert_int_equal(attach_answer_read(&answer, bytes, ATTACH_ANSWER_SIZE), -EPROTO);
}

/* A node of version 1 refuses our hello with four bytes: its number and 95. */
static void a_node_of_the_first_version_is_told_apart(void **state)
{
    const uint8_t bytes[] = {0xff, 0xff, 0, EOPNOTSUPP};
    struct attach_answer answer;
    assert_int_equal(attach_answer_read(&answer, bytes, sizeof bytes), 0);
    assert_int_equal(answer.status, EPROTONOSUPPORT);
    assert_int_equal(answer.version, 1);
}

static void heads_are_read_as_they_were_written(void **state)
{
    uint8_t bytes[ATTACH_HEAD_SIZE + 3];
    struct attach_head head;
    attach_head_write(&(struct attach_head){300, ENOENT, UINT64_MAX - 5}, bytes);
    for (size_t size = 0; size < ATTACH_HEAD_SIZE; size++)
        assert_int_equal(attach_head_read(&head, bytes, size), -EPROTO);
    for (size_t size = ATTACH_HEAD_SIZE; size <= sizeof bytes; size++) {
        assert_int_equal(attach_head_read(&head, bytes, size), 0);
        assert_int_equal(head.service, 300);
        assert_int_equal(head.status, ENOENT);
        assert_true(head.ticket == UINT64_MAX - 5);
    }
}

TEST_MAIN(TEST(only_valid_hellos_are_read), TEST(only_valid_welcomes_are_read),
          TEST(a_node_of_the_first_version_is_told_apart),
          TEST(heads_are_read_as_they_were_written))
