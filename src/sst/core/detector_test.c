/* Wake-ups of a sleeping detector. Bells of this program have no safety timeout, and the detectors
 * sleep as soon as they find nothing: each test fails if the wake-up that it tests is deleted. A
 * failed test does not close its members, so they are static. */
#include <string.h>

#include "sst/core/sst_impl.h"
#include "sst/core/sst_scene.h"
#include "transport/wake/sleeper_scene.h"

static struct member members[2];
static struct sleeper sleeper;
static struct wish wish;

static struct sst_config sleepy_config(uint32_t wanted)
{
    struct sst_config config = config_of(SST_WRITES, wanted);
    config.spin_nsec = -1;
    config.yield_nsec = -1;
    return config;
}

static void open_sleepy(unsigned count)
{
    struct sst_config config = sleepy_config(count);
    open_members(members, count, &config);
}

/* Waits until that member's detector sleeps. It may have announced its sleep and still be in its
 * last check: therefore several checks in a row. */
static void await_sleep(struct member *member)
{
    nsec deadline = clock_after(SLEEPER_PATIENCE_NSEC);
    for (unsigned checks = 0; checks < SLEEPER_CHECKS;) {
        checks = doorbell_is_slept_on(&member->sst->share.bell.door) ? checks + 1 : 0;
        assert_true(clock_now() < deadline);
        clock_nap(1000 * 1000);
    }
}

static void wait_for_wish(void *argument)
{
    struct member *member = argument;
    uint32_t column = STEP;
    member->result = sst_wait(member->sst, has_value, &wish, &column, 1, RIPC_FOREVER);
}

/* The put comes once from this member itself, once from the peer, which maps our bell. */
static void a_put_wakes_the_detectors_that_see_it(void **state)
{
    open_sleepy(2);
    for (unsigned i = 0; i < 2; i++) {
        wish = (struct wish){sst_row_own(members[i].sst), STEP, 7};
        sleeper_start(&sleeper, wait_for_wish, &members[0]);
        await_sleep(&members[0]);
        assert_int_equal(sst_set_u64(members[i].sst, STEP, 7), 0);
        sleeper_assert_woken(&sleeper);
        assert_int_equal(members[0].result, 0);
    }
    close_members(members, 2);
}

static _Atomic unsigned evaluations; /* of holds_later, by several threads; relaxed */
static _Atomic bool fired;           /* stored by the detector, with release */

/* False when the waiting thread evaluates it, true afterwards. */
static bool holds_later(const struct sst *sst, void *argument)
{
    return atomic_fetch_add_explicit(&evaluations, 1, memory_order_relaxed) > 0;
}

static void wait_for_later(void *argument)
{
    struct member *member = argument;
    uint32_t column = STEP;
    member->result = sst_wait(member->sst, holds_later, NULL, &column, 1, RIPC_FOREVER);
}

/* The condition may have become true before the detector had the predicate. */
static void a_waiting_thread_wakes_the_detector(void **state)
{
    open_sleepy(1);
    await_sleep(&members[0]);
    sleeper_begin(&sleeper, wait_for_later, &members[0]);
    sleeper_assert_woken(&sleeper);
    assert_int_equal(members[0].result, 0);
    close_members(members, 1);
}

static bool holds_always(const struct sst *sst, void *argument)
{
    return true;
}

static void note_fired(struct sst *sst, void *argument)
{
    atomic_store_explicit(&fired, true, memory_order_release);
}

static void a_new_predicate_is_evaluated_at_once(void **state)
{
    uint32_t column = STEP;
    const struct sst_predicate predicate = {
        .kind = SST_ONCE,
        .holds = holds_always,
        .fire = note_fired,
        .columns = &column,
        .column_count = 1,
    };
    open_sleepy(1);
    await_sleep(&members[0]);
    assert_int_equal(sst_predicate_add(members[0].sst, &predicate, NULL), 0);
    for (nsec end = clock_after(SLEEPER_PATIENCE_NSEC);
         !atomic_load_explicit(&fired, memory_order_acquire);) {
        assert_true(clock_now() < end);
        clock_nap(1000 * 1000);
    }
    close_members(members, 1);
}

static void close_first(void *argument)
{
    close_member(&members[0]);
}

static void closing_wakes_the_detector(void **state)
{
    open_sleepy(1);
    await_sleep(&members[0]);
    sleeper_begin(&sleeper, close_first, NULL);
    sleeper_assert_woken(&sleeper);
}

static void open_second(void *argument)
{
    open_member(&members[1]);
}

/* The keeper, which learns of members first, tells the detector, which installs the new view. */
static void a_member_that_joins_wakes_the_detectors_of_others(void **state)
{
    open_sleepy(1);
    await_sleep(&members[0]);
    members[1] = (struct member){.config = sleepy_config(1)};
    sleeper_begin(&sleeper, open_second, NULL);
    sleeper_assert_woken(&sleeper);
    assert_int_equal(members[1].result, 0);
    close_members(members, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(closing_wakes_the_detector), /* first, because in the other tests the test's own
                                              thread closes */
        SCENE(a_put_wakes_the_detectors_that_see_it),
        SCENE(a_waiting_thread_wakes_the_detector),
        SCENE(a_new_predicate_is_evaluated_at_once),
        SCENE(a_member_that_joins_wakes_the_detectors_of_others),
    };
    atomic_store(&doorbell_nap, NSEC_NEVER);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
