/* Tests the inbox alone. */
#include "program/inbox.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static bool put(struct inbox *inbox, uint32_t kind, uint64_t ticket, const char *text)
{
    const struct weft_message message = {
        .kind = kind, .ticket = ticket, .size = (uint32_t)strlen(text)};
    return inbox_put(inbox, &message, text);
}

static void messages_are_taken_in_order(void **state)
{
    struct inbox inbox;
    struct weft_message message;
    char bytes[8];
    inbox_init(&inbox);
    assert_int_equal(inbox_take(&inbox, &message, bytes, sizeof bytes), 0);
    assert_true(put(&inbox, WEFT_ANSWER, 2, "two"));
    assert_true(put(&inbox, WEFT_EVENT, 0, ""));
    assert_true(put(&inbox, WEFT_ANSWER, 4, "four"));
    assert_int_equal(inbox_take(&inbox, &message, bytes, 2), -EMSGSIZE); /* it stays */
    assert_int_equal(message.size, 3);
    assert_int_equal(inbox_take(&inbox, &message, bytes, 3), 1);
    assert_int_equal(message.ticket, 2);
    assert_memory_equal(bytes, "two", 3);
    assert_int_equal(inbox_take(&inbox, &message, NULL, 0), 1);
    assert_int_equal(message.kind, WEFT_EVENT);
    assert_int_equal(inbox_take(&inbox, &message, bytes, sizeof bytes), 1);
    assert_int_equal(message.ticket, 4);
    assert_int_equal(inbox_take(&inbox, &message, bytes, sizeof bytes), 0);
    inbox_fini(&inbox);
}

static void only_events_are_limited(void **state)
{
    struct inbox inbox;
    struct weft_message message;
    char bytes[8];
    inbox_init(&inbox);
    for (unsigned i = 0; i < INBOX_EVENTS_MAX; i++)
        assert_true(put(&inbox, WEFT_EVENT, 0, "e"));
    assert_false(put(&inbox, WEFT_EVENT, 0, "e"));
    assert_true(put(&inbox, WEFT_ANSWER, 1, "a"));
    assert_true(put(&inbox, WEFT_LOST, 0, ""));
    assert_int_equal(inbox.dropped, 1);
    assert_int_equal(inbox_take(&inbox, &message, bytes, sizeof bytes), 1);
    assert_true(put(&inbox, WEFT_EVENT, 0, "e"));
    inbox_fini(&inbox);
}

TEST_MAIN(TEST(messages_are_taken_in_order), TEST(only_events_are_limited))
