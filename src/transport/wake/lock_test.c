#include "transport/wake/lock.h"

#include <sched.h>

#include "base/test.h"
#include "transport/clock.h"
#include "transport/wake/sleeper_scene.h"
#include "transport/wake/thread.h"

#define TURNS 20000

struct shared {
    struct lock lock;
    uint64_t count; /* under the lock */
    bool favour;
    unsigned pass; /* every so many turns */
};

static void *count_up(void *argument)
{
    struct shared *shared = argument;
    for (unsigned i = 0; i < TURNS; i++) {
        lock_take(&shared->lock);
        shared->count++;
        if (shared->pass && i % shared->pass == 0) {
            if (lock_is_wanted(&shared->lock))
                lock_pass(&shared->lock);
        }
        lock_drop(&shared->lock);
    }
    return NULL;
}

static void count_together(struct shared *shared, unsigned count)
{
    struct thread threads[4] = {0};
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(thread_start(&threads[i], "count", count_up, shared), 0);
    count_up(shared);
    for (unsigned i = 0; i < count; i++)
        thread_join(&threads[i]);
    assert_int_equal(shared->count, (count + 1) * TURNS);
    assert_int_equal(shared->lock.state, 0);
    assert_int_equal(shared->lock.active, 0);
}

static void threads_do_not_lose_each_others_counts(void **state)
{
    struct shared shared = {.pass = 7};
    count_together(&shared, 4);
}

static void the_favoured_thread_shares_with_others(void **state)
{
    struct shared shared = {.pass = 100};
    lock_take(&shared.lock);
    lock_favour(&shared.lock);
    lock_drop(&shared.lock);
    count_together(&shared, 2);
    assert_int_equal(shared.lock.favoured, 0); /* too many other threads came */
}

static void *visit(void *argument)
{
    struct shared *shared = argument;
    lock_take(&shared->lock);
    lock_rare(&shared->lock);
    lock_drop(&shared->lock);
    for (unsigned i = 0; i < 2000; i++) {
        lock_take(&shared->lock);
        shared->count++;
        lock_drop(&shared->lock);
    }
    return NULL;
}

static void a_rare_visitor_does_not_end_the_favour(void **state)
{
    struct shared shared = {0};
    struct thread thread = {0};
    lock_take(&shared.lock);
    lock_favour(&shared.lock);
    bool favoured = shared.lock.favoured != 0; /* false where the kernel has no membarrier */
    lock_drop(&shared.lock);
    assert_int_equal(thread_start(&thread, "visit", visit, &shared), 0);
    count_up(&shared);
    thread_join(&thread);
    assert_int_equal(shared.count, TURNS + 2000);
    lock_take(&shared.lock);
    assert_int_equal(shared.lock.favoured != 0, favoured);
    assert_int_equal(shared.lock.fast, favoured);
    lock_drop(&shared.lock);
}

/* What one thread does inside the lock and the other must see, with only the lock between them. */
struct handover {
    struct lock lock;
    /* Plain, under the lock: ThreadSanitizer reports a lock that does not order them. */
    uint64_t there, back;
    _Atomic unsigned turn; /* whose turn it is; written relaxed, so that it orders nothing */
};

static void turn_wait(struct handover *handover, unsigned turn)
{
    while (atomic_load_explicit(&handover->turn, memory_order_relaxed) != turn)
        sched_yield();
}

static void *hand_back(void *argument)
{
    struct handover *handover = argument;
    for (unsigned i = 0; i < 100; i++) {
        turn_wait(handover, 2 * i + 1);
        lock_take(&handover->lock);
        lock_rare(&handover->lock);
        handover->back = handover->there;
        lock_drop(&handover->lock);
        atomic_store_explicit(&handover->turn, 2 * i + 2, memory_order_relaxed);
    }
    return NULL;
}

static void the_gate_orders_what_was_done_inside(void **state)
{
    struct handover handover = {0};
    struct thread thread = {0};
    lock_take(&handover.lock);
    lock_favour(&handover.lock);
    bool favoured = handover.lock.favoured != 0;
    lock_drop(&handover.lock);
    assert_int_equal(thread_start(&thread, "back", hand_back, &handover), 0);
    for (unsigned i = 0; i < 100; i++) {
        lock_take(&handover.lock);
        assert_int_equal(handover.lock.fast, favoured);
        handover.there = i;
        lock_drop(&handover.lock);
        atomic_store_explicit(&handover.turn, 2 * i + 1, memory_order_relaxed);
        turn_wait(&handover, 2 * i + 2);
        lock_take(&handover.lock);
        assert_int_equal(handover.lock.fast, favoured);
        assert_int_equal(handover.back, i);
        lock_drop(&handover.lock);
    }
    thread_join(&thread);
}

static void *ask_for_favour(void *argument)
{
    struct lock *lock = argument;
    lock_take(lock);
    lock_favour(lock);
    lock_drop(lock);
    return NULL;
}

static void the_first_favoured_thread_stays_favoured(void **state)
{
    struct lock lock = {0};
    struct thread thread = {0};
    ask_for_favour(&lock);
    uintptr_t first = lock.favoured;
    assert_int_equal(thread_start(&thread, "ask", ask_for_favour, &lock), 0);
    thread_join(&thread);
    assert_int_equal(lock.favoured, first);
}

static void no_thread_is_favoured_after_another_came(void **state)
{
    struct lock lock = {.strangers = 1};
    ask_for_favour(&lock);
    assert_int_equal(lock.favoured, 0);
}

static void *try_it(void *argument)
{
    struct shared *shared = argument;
    uint64_t missed = 0;
    for (unsigned i = 0; i < TURNS;) {
        if (!lock_try(&shared->lock)) {
            missed++;
            cpu_relax();
            continue;
        }
        shared->count++;
        i++;
        lock_drop(&shared->lock);
    }
    return (void *)(uintptr_t)missed;
}

static void *try_once(void *argument)
{
    struct shared *shared = argument;
    if (!lock_try(&shared->lock))
        return NULL;
    shared->count++;
    lock_drop(&shared->lock);
    return NULL;
}

/* Tried by the favoured thread and by another. */
static void trying_does_not_wait_and_still_excludes(void **state)
{
    for (unsigned favour = 0; favour < 2; favour++) {
        struct shared shared = {0};
        struct thread other = {0};
        lock_take(&shared.lock);
        if (favour)
            lock_favour(&shared.lock);
        if (!favour) { /* a thread that tries would wait for the favoured one */
            assert_int_equal(thread_start(&other, "try", try_once, &shared), 0);
            thread_join(&other);
            assert_int_equal(shared.count, 0); /* we hold the lock */
        }
        lock_drop(&shared.lock);
        assert_int_equal(thread_start(&other, "try", try_it, &shared), 0);
        count_up(&shared);
        try_it(&shared);
        thread_join(&other);
        assert_int_equal(shared.count, 3 * TURNS);
        assert_int_equal(shared.lock.state, 0);
        assert_int_equal(shared.lock.active, 0);
    }
}

/* ---- wake-ups: each test fails if the wake-up that it names is deleted ---- */

static void take_and_drop(void *argument)
{
    struct lock *lock = argument;
    lock_take(lock);
    lock_drop(lock);
}

/* Tests the wake-up of mutex_drop, and that the drop of a woken sleeper wakes the next one. */
static void dropping_the_lock_wakes_all_sleepers_in_turn(void **state)
{
    static struct lock lock;
    static struct sleeper sleepers[3];
    lock_take(&lock);
    for (unsigned i = 0; i < 3; i++)
        sleeper_start(&sleepers[i], take_and_drop, &lock);
    assert_int_equal(lock.state, 2);
    lock_drop(&lock);
    for (unsigned i = 0; i < 3; i++)
        sleeper_assert_woken(&sleepers[i]);
    assert_int_equal(lock.state, 0);
}

static bool favour(struct lock *lock)
{
    lock_take(lock);
    lock_favour(lock);
    lock_drop(lock);
    return lock_is_favourite(lock); /* false where the kernel has no membarrier */
}

/* Tests the wake-up of lock_drop. */
static void the_favoured_thread_wakes_the_closer_on_its_way_out(void **state)
{
    static struct lock lock;
    static struct sleeper closer;
    if (!favour(&lock))
        skip();
    lock_take(&lock);
    assert_true(lock.fast);
    sleeper_start(&closer, take_and_drop, &lock);
    assert_true(lock_is_wanted(&lock));
    lock_drop(&lock);
    sleeper_assert_woken(&closer);
}

/* Tests the wake-up of lock_pass_gate: the favoured thread has announced that it enters when the
 * closer comes, and finds the gate closed. */
static void the_favoured_thread_wakes_the_closer_that_keeps_it_out(void **state)
{
    static struct lock lock;
    static struct sleeper closer;
    if (!favour(&lock))
        skip();
    atomic_store(&lock.active, 1); /* as at the beginning of lock_enter */
    sleeper_start(&closer, take_and_drop, &lock);
    assert_false(lock_pass_gate(&lock));
    sleeper_assert_woken(&closer);
    take_and_drop(&lock);
    assert_true(lock_is_favourite(&lock));
}

struct holding {
    struct lock lock;
    _Atomic bool held, enough;
};

static void *hold(void *argument)
{
    struct holding *holding = argument;
    lock_take(&holding->lock);
    atomic_store(&holding->held, true);
    while (!atomic_load(&holding->enough))
        sched_yield();
    lock_drop(&holding->lock);
    return NULL;
}

static void the_favoured_thread_is_kept_out_too(void **state)
{
    struct holding holding = {0};
    struct thread thread = {0};
    (void)favour(&holding.lock);
    assert_int_equal(thread_start(&thread, "hold", hold, &holding), 0);
    while (!atomic_load(&holding.held))
        sched_yield();
    for (unsigned i = 0; i < 100; i++)
        assert_false(lock_try(&holding.lock));
    atomic_store(&holding.enough, true);
    thread_join(&thread);
    assert_true(lock_try(&holding.lock));
    lock_drop(&holding.lock);
}

TEST_MAIN(TEST(the_favoured_thread_is_kept_out_too), TEST(threads_do_not_lose_each_others_counts),
          TEST(the_favoured_thread_shares_with_others),
          TEST(a_rare_visitor_does_not_end_the_favour), TEST(the_gate_orders_what_was_done_inside),
          TEST(the_first_favoured_thread_stays_favoured),
          TEST(no_thread_is_favoured_after_another_came),
          TEST(trying_does_not_wait_and_still_excludes),
          TEST(dropping_the_lock_wakes_all_sleepers_in_turn),
          TEST(the_favoured_thread_wakes_the_closer_on_its_way_out),
          TEST(the_favoured_thread_wakes_the_closer_that_keeps_it_out))
