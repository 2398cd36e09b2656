#include "transport/datagram/resend.h"

#include "base/test.h"

enum { FIRST = 10, MOST = 100 };

static void delays_double_up_to_the_largest(void **state)
{
    static const nsec delays[] = {10, 20, 40, 80, 100, 100, 100};
    struct resend resend;
    nsec now = 1000;
    resend_init(&resend, FIRST, MOST);
    resend.next = resend.sent = 1;
    for (unsigned i = 0; i < sizeof delays / sizeof *delays; i++) {
        resend_started(&resend, now);
        assert_int_equal(resend.at, now + delays[i]);
        now += delays[i];
        assert_false(resend_is_due(&resend, now - 1));
        assert_true(resend_is_due(&resend, now));
        assert_false(resend_is_due(&resend, now)); /* only once */
    }
    for (resend.tries = 60; resend.tries < 70; resend.tries++) /* beyond the width of an integer */
        assert_int_equal(resend_again(&resend, now), now + MOST);
}

static void later_items_do_not_delay_a_resend(void **state)
{
    struct resend resend;
    resend_init(&resend, FIRST, MOST);
    assert_false(resend_is_due(&resend, NSEC_NEVER - 1)); /* nothing is in flight */
    resend.next = resend.sent = 2;
    resend_started(&resend, 5);
    resend_started(&resend, 9);
    assert_int_equal(resend.at, 15);
}

static void a_confirmation_resets_the_delay(void **state)
{
    struct resend resend;
    resend_init(&resend, FIRST, MOST);
    resend.next = resend.sent = 4;
    resend.tries = 3;
    resend_started(&resend, 0);
    assert_true(resend_confirm(&resend, 1, 7));
    assert_int_equal(resend.tries, 0);
    assert_int_equal(resend.at, 17); /* the rest is still in flight */
    assert_true(resend_confirm(&resend, 4, 8));
    assert_int_equal(resend.base, 4);
    assert_int_equal(resend.at, NSEC_NEVER);
}

static void stale_and_invalid_confirmations_change_nothing(void **state)
{
    struct resend resend, before;
    resend_init(&resend, FIRST, MOST);
    resend.base = 5;
    resend.next = resend.sent = 9;
    resend.tries = 2;
    resend_started(&resend, 0);
    before = resend;
    assert_false(resend_confirm(&resend, 5, 3));
    assert_false(resend_confirm(&resend, 1, 3));
    assert_false(resend_confirm(&resend, 10, 3)); /* does not exist */
    assert_memory_equal(&resend, &before, sizeof resend);
}

/* All items were to be sent again from the first on; then a confirmation for some of them
 * arrived. */
static void confirmed_items_are_not_sent_again(void **state)
{
    struct resend resend;
    resend_init(&resend, FIRST, MOST);
    resend.next = resend.sent = 4;
    resend.sent = resend.base;
    assert_true(resend_confirm(&resend, 3, 1));
    assert_int_equal(resend.sent, 3);
    assert_int_equal(resend.at, NSEC_NEVER); /* the fourth was not sent again yet */
}

TEST_MAIN(TEST(delays_double_up_to_the_largest), TEST(later_items_do_not_delay_a_resend),
          TEST(a_confirmation_resets_the_delay),
          TEST(stale_and_invalid_confirmations_change_nothing),
          TEST(confirmed_items_are_not_sent_again))
