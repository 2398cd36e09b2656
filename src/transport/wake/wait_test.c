#include "transport/wake/wait.h"

#include "base/test.h"

static void a_wait_without_patience_blocks_at_once(void **state)
{
    struct wait wait;
    wait_start(&wait, -1, -1);
    assert_int_equal(wait_turn(&wait, NSEC_NEVER), WAIT_BLOCK);
    assert_int_equal(wait_turn(&wait, NSEC_NEVER), WAIT_BLOCK);
}

static enum wait_advice turn_until_other(struct wait *wait, nsec deadline)
{
    enum wait_advice advice = WAIT_AGAIN;
    for (unsigned i = 0; advice == WAIT_AGAIN; i++) {
        assert_true(i < 100 * 1000 * 1000);
        advice = wait_turn(wait, deadline);
    }
    return advice;
}

static void a_wait_polls_and_yields_before_it_blocks(void **state)
{
    const nsec each[][2] = {{100000, 200000}, {-1, 200000}, {100000, -1}, {0, 0}};
    for (unsigned i = 0; i < 4; i++) {
        struct wait wait;
        nsec begin = clock_now();
        wait_start(&wait, each[i][0], each[i][1]);
        if (each[i][0] > 0 || each[i][1] > 0)
            assert_int_equal(wait_turn(&wait, NSEC_NEVER), WAIT_AGAIN);
        assert_int_equal(turn_until_other(&wait, NSEC_NEVER), WAIT_BLOCK);
        /* At least as long as requested; a busy machine takes longer. */
        nsec least = (each[i][0] > 0 ? each[i][0] : 0) + (each[i][1] > 0 ? each[i][1] : 0);
        assert_true(clock_now() - begin >= least);
    }
}

static void a_deadline_ends_a_wait_in_every_stage(void **state)
{
    struct wait wait;
    wait_start(&wait, NSEC_NEVER, -1);
    assert_int_equal(turn_until_other(&wait, clock_after(100000)), WAIT_TIMEOUT);
    wait_start(&wait, -1, NSEC_NEVER);
    assert_int_equal(turn_until_other(&wait, clock_after(100000)), WAIT_TIMEOUT);
    wait_start(&wait, -1, -1);
    assert_int_equal(wait_turn(&wait, 1), WAIT_TIMEOUT);
    wait_start(&wait, NSEC_NEVER, -1);
    assert_int_equal(wait_turn(&wait, 0), WAIT_TIMEOUT); /* neither waits nor polls */
}

TEST_MAIN(TEST(a_wait_without_patience_blocks_at_once),
          TEST(a_wait_polls_and_yields_before_it_blocks),
          TEST(a_deadline_ends_a_wait_in_every_stage))
