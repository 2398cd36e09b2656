/* Calls of weft/weft.h with arguments that are refused without a server. tests/cli/attachments.py
 * has programs that talk to servers. */
#include <errno.h>
#include <weft/weft.h>

#include "base/test.h"

static void calls_without_an_attachment_are_refused(void **state)
{
    struct weft_attachment_state found;
    struct weft_message message;
    uint64_t ticket;
    char bytes[8];
    assert_int_equal(weft_attach(NULL, WEFT_ANY, 0, NULL), -EINVAL);
    assert_int_equal(weft_attachment_state(NULL, &found), -EINVAL);
    assert_int_equal(weft_find(NULL, "ping", 0), -EINVAL);
    assert_int_equal(weft_ask(NULL, 1, "x", 1, bytes, sizeof bytes, 0), -EINVAL);
    assert_int_equal(weft_post(NULL, 1, "x", 1, &ticket, 0), -EINVAL);
    assert_int_equal(weft_take(NULL, &message, bytes, sizeof bytes, 0), -EINVAL);
    assert_int_equal(weft_attachment_fd(NULL), -EINVAL);
    assert_int_equal(weft_attachment_arm(NULL), -EINVAL);
    assert_int_equal(weft_detach(NULL), -EINVAL);
}

TEST_MAIN(TEST(calls_without_an_attachment_are_refused))
