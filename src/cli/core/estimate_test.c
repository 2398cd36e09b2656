#include "cli/core/estimate.h"

#include <math.h>

#include "base/rng.h"
#include "base/test.h"

#define STEP_S 0.1

/* Returns the estimate of this moment, and checks that it has not grown since the one before. */
static double shown_next(struct estimate *estimate, double now, double share, double before)
{
    double left = estimate_left(estimate, 0, now, share);
    if (left == ESTIMATE_NONE) {
        assert_true(before == ESTIMATE_NONE); /* an estimate does not disappear again */
    } else if (left == ESTIMATE_LATE) {
        assert_true(before != ESTIMATE_NONE);
    } else {
        assert_true(left >= 0);
        assert_true(before != ESTIMATE_LATE); /* no time comes after "late" */
        assert_true(before == ESTIMATE_NONE || left <= before - STEP_S * 0.999);
    }
    return left;
}

static void steady_work_is_estimated_well_and_done_in_time(void **state)
{
    struct estimate estimate = {0};
    double left = ESTIMATE_NONE;
    for (double now = 0; now <= 20; now += STEP_S) {
        left = shown_next(&estimate, now, now / 20, left);
        if (now < 0.35)
            assert_true(left == ESTIMATE_NONE);
        if (now > 0.6)
            assert_true(fabs(left - (20 - now)) <= 0.1 * (20 - now) + 2 * STEP_S);
    }
    assert_true(left != ESTIMATE_LATE);
}

static void work_that_becomes_slow_is_late_and_stays_so(void **state)
{
    struct estimate estimate = {0};
    double left = ESTIMATE_NONE;
    for (double now = 0; now <= 100; now += STEP_S) {
        double share =
            now < 5 ? now / 10 : 0.5 + (now - 5) / 190; /* ten seconds become a hundred */
        left = shown_next(&estimate, now, share, left);
    }
    assert_true(left == ESTIMATE_LATE);
}

static void work_that_becomes_fast_is_due_earlier(void **state)
{
    struct estimate estimate = {0};
    double slow = estimate_left(&estimate, 0, 10, 0.1),
           fast = estimate_left(&estimate, 0, 10.5, 0.9);
    assert_true(slow > 80 && fast < 2 && fast > 0);
}

static void work_that_stands_still_is_late(void **state)
{
    struct estimate estimate = {0};
    double left = ESTIMATE_NONE;
    for (double now = 0; now <= 60; now += STEP_S)
        left = shown_next(&estimate, now, now < 3 ? now / 6 : 0.5, left);
    assert_true(left == ESTIMATE_LATE);
}

/* Some progress bars start again under the same title. */
static void a_falling_share_does_not_raise_the_estimate(void **state)
{
    struct estimate estimate = {0};
    double left = ESTIMATE_NONE;
    for (double now = 0; now <= 30; now += STEP_S)
        left = shown_next(&estimate, now, fmod(now, 7) / 7, left);
}

static void no_sequence_of_shares_makes_the_time_grow(void **state)
{
    struct rng rng = rng_make(1, 0);
    for (int round = 0; round < 200; round++) {
        struct estimate estimate = {0};
        double left = ESTIMATE_NONE, share = 0;
        for (double now = 0; now <= 30; now += STEP_S) {
            switch (rng_below(&rng, 4)) {
            case 0:
                share = rng_unit(&rng);
                break;
            case 1:
                share = fmin(1, share + rng_unit(&rng) / 50);
                break;
            case 2:
                share = rng_below(&rng, 2);
                break;
            default: /* nothing happens */
                break;
            }
            left = shown_next(&estimate, now, share, left);
        }
    }
}

static void there_is_no_estimate_at_the_beginning(void **state)
{
    struct estimate estimate = {0};
    assert_true(estimate_left(&estimate, 5, 5, 0) == ESTIMATE_NONE);
    assert_true(estimate_left(&estimate, 5, 5.2, 0.9) == ESTIMATE_NONE);
    assert_true(estimate_left(&estimate, 5, 60, 0.01) == ESTIMATE_NONE);
    assert_true(estimate_left(&estimate, 5, 60, 1) == 0);
}

TEST_MAIN(TEST(steady_work_is_estimated_well_and_done_in_time),
          TEST(work_that_becomes_slow_is_late_and_stays_so),
          TEST(work_that_becomes_fast_is_due_earlier), TEST(work_that_stands_still_is_late),
          TEST(a_falling_share_does_not_raise_the_estimate),
          TEST(no_sequence_of_shares_makes_the_time_grow),
          TEST(there_is_no_estimate_at_the_beginning))
