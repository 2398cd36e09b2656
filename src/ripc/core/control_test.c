#include "ripc/core/control.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static struct control_words sample(void)
{
    struct control_words words = {
        .kind = CONTROL_OPEN,
        .pipe = 1,
        .from = 2,
        .to = 3,
        .number = 4,
        .item = 5,
        .rights = 6,
        .status = -7,
        .transport = "shm",
        .memory = {8, 9, 10},
        .parcel = {.size = 3, .bytes = "xyz"},
    };
    for (unsigned i = 0; i < CONTROL_FD_MAX; i++)
        words.parcel.fds[i] = -1;
    return words;
}

static void a_control_message_is_read_as_it_was_written(void **state)
{
    struct control_words words = sample();
    struct control_words heard;
    struct control control;
    words.parcel.fd_count = 1;
    words.parcel.fds[0] = dup(0);
    control_write(&control, &words);
    assert_int_equal(control_read(&control, &heard), 0);
    assert_memory_equal(&heard, &words, sizeof words);
    assert_int_equal(control.fd_count, 0); /* the descriptor is in the parcel now */
    parcel_fini(&heard.parcel);
}

static void malformed_control_messages_are_refused(void **state)
{
    struct control_words words = sample();
    struct control_words heard;
    struct control control;
    control_write(&control, &words);
    for (uint16_t size = 0; size < control.size; size++) {
        struct control cut = control;
        cut.size = size;
        assert_int_equal(control_read(&cut, &heard), -EPROTO);
    }
    struct control odd = control;
    odd.kind = CONTROL_KIND_END;
    assert_int_equal(control_read(&odd, &heard), -EPROTO);
    odd = control;
    odd.kind = 0;
    assert_int_equal(control_read(&odd, &heard), -EPROTO);
    odd = control;
    memset(odd.body + 44, 'a', CONTROL_NAME_MAX); /* a name that is not terminated */
    assert_int_equal(control_read(&odd, &heard), -EPROTO);
    odd = control;
    odd.size = sizeof odd.body; /* a parcel that exceeds the limit, with a matching size field */
    odd.body[84] = (uint8_t)((sizeof odd.body - 86) & 0xff);
    odd.body[85] = (uint8_t)((sizeof odd.body - 86) >> 8);
    assert_int_equal(control_read(&odd, &heard), -EPROTO);
    odd = control;
    odd.body[40] = 0x7f; /* a status that is not an error */
    assert_int_equal(control_read(&odd, &heard), -EPROTO);
}

TEST_MAIN(TEST(a_control_message_is_read_as_it_was_written),
          TEST(malformed_control_messages_are_refused))
