#include "transport/wake/poller.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/wake/sleeper_scene.h"

enum { TIMERS = 200 };

struct bench {
    struct lock lock;
    struct poller *poller;
    int fd[2];
    struct poller_watch *watch[2];
    int calls[2];
    struct poller_timer timers[TIMERS];
    nsec fired_at[TIMERS];
    int fired_count;
    bool out_of_order;
    nsec last;
};

static struct bench *bench_open(void)
{
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    assert_int_equal(poller_open(&bench->poller, &bench->lock), 0);
    for (int i = 0; i < 2; i++) {
        bench->fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_true(bench->fd[i] >= 0);
    }
    return bench;
}

static void bench_close(struct bench *bench)
{
    for (int i = 0; i < 2; i++) {
        poller_remove(bench->poller, bench->watch[i]);
        close(bench->fd[i]);
    }
    poller_close(bench->poller);
    free(bench);
}

static void ring(int fd)
{
    uint64_t one = 1;
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
}

static bool readable(int fd)
{
    struct pollfd descriptor = {.fd = fd, .events = POLLIN};
    return poll(&descriptor, 1, 0) == 1;
}

static void empty(struct bench *bench, int which)
{
    uint64_t value;
    assert_int_equal(read(bench->fd[which], &value, sizeof value), sizeof value);
    bench->calls[which]++;
}

static void first_ready(void *owner, uint32_t events)
{
    assert_true(events & EPOLLIN);
    empty(owner, 0);
}

static void second_ready(void *owner, uint32_t events)
{
    empty(owner, 1);
}

/* The callback of two watches: the first call removes both. */
static void remove_both(void *owner, uint32_t events)
{
    struct bench *bench = owner;
    bench->calls[0]++;
    for (int i = 0; i < 2; i++) {
        poller_remove(bench->poller, bench->watch[i]);
        bench->watch[i] = NULL;
    }
}

static void descriptors_call_their_owners(void **state)
{
    struct bench *bench = bench_open();
    assert_int_equal(
        poller_add(bench->poller, bench->fd[0], EPOLLIN, first_ready, bench, &bench->watch[0]), 0);
    assert_int_equal(
        poller_add(bench->poller, bench->fd[1], EPOLLIN, second_ready, bench, &bench->watch[1]), 0);
    assert_int_equal(poller_step(bench->poller, 0), 0);
    assert_false(readable(poller_fd(bench->poller)));
    ring(bench->fd[0]);
    assert_true(readable(poller_fd(bench->poller)));
    assert_int_equal(poller_step(bench->poller, NSEC_NEVER), 1);
    ring(bench->fd[1]);
    assert_int_equal(poller_change(bench->poller, bench->watch[1], 0), 0);
    assert_int_equal(poller_step(bench->poller, 0), 0);
    assert_int_equal(poller_change(bench->poller, bench->watch[1], EPOLLIN), 0);
    assert_int_equal(poller_step(bench->poller, 0), 1);
    assert_int_equal(bench->calls[0], 1);
    assert_int_equal(bench->calls[1], 1);
    ring(bench->fd[1]);
    poller_ignore(bench->poller, bench->watch[1]);
    poller_ignore(bench->poller, bench->watch[1]);
    assert_int_equal(poller_step(bench->poller, 0), 0);
    assert_false(readable(poller_fd(bench->poller)));
    assert_int_equal(poller_change(bench->poller, bench->watch[1], EPOLLIN), 0);
    assert_int_equal(poller_step(bench->poller, 0), 1);
    assert_int_equal(bench->calls[1], 2);
    poller_ignore(bench->poller, bench->watch[1]); /* it is removed while it is ignored */
    assert_int_equal(poller_add(bench->poller, -1, EPOLLIN, first_ready, bench, &bench->watch[0]),
                     -EBADF);
    bench_close(bench);
}

static void a_removed_watch_is_not_called_though_its_event_was_fetched(void **state)
{
    struct bench *bench = bench_open();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            poller_add(bench->poller, bench->fd[i], EPOLLIN, remove_both, bench, &bench->watch[i]),
            0);
        ring(bench->fd[i]);
    }
    assert_int_equal(poller_step(bench->poller, 0), 1);
    assert_int_equal(bench->calls[0], 1);
    assert_int_equal(poller_step(bench->poller, 0), 0);
    bench_close(bench);
}

static void timer_fired(void *owner)
{
    struct bench *bench = owner;
    bench->fired_count++;
}

static void note_order(void *owner)
{
    nsec *wanted = owner;
    struct bench *bench = *(struct bench **)(wanted + 1);
    bench->out_of_order |= *wanted < bench->last;
    bench->last = *wanted;
    bench->fired_count++;
}

static void timers_fire_in_order(void **state)
{
    struct bench *bench = bench_open();
    struct noted {
        nsec wanted;
        struct bench *bench;
    } noted[TIMERS];
    uint64_t seed = entropy_u64();
    printf("# seed %llu\n", (unsigned long long)seed);
    struct rng rng = rng_make(seed, 0);
    int expected = 0;
    for (int i = 0; i < TIMERS; i++) {
        noted[i] = (struct noted){.bench = bench};
        bench->timers[i] = (struct poller_timer){.fired = note_order, .owner = &noted[i]};
    }
    for (int turn = 0; turn < 3 * TIMERS; turn++) { /* set, set again, unset */
        uint64_t i = rng_below(&rng, TIMERS);
        noted[i].wanted = (nsec)rng_below(&rng, 1000) + 1;
        if (rng_below(&rng, 4) == 0)
            poller_unset(bench->poller, &bench->timers[i]);
        else
            assert_int_equal(poller_set(bench->poller, &bench->timers[i], noted[i].wanted), 0);
    }
    for (int i = 0; i < TIMERS; i++)
        expected += bench->timers[i].slot != 0;
    assert_true(expected > 0);
    assert_true(readable(poller_fd(bench->poller)));
    assert_int_equal(poller_step(bench->poller, NSEC_NEVER), expected);
    assert_int_equal(bench->fired_count, expected);
    assert_false(bench->out_of_order);
    assert_false(readable(poller_fd(bench->poller)));
    for (int i = 0; i < TIMERS; i++)
        assert_int_equal(bench->timers[i].slot, 0);
    bench_close(bench);
}

static void set_again_to_the_past(void *owner)
{
    struct bench *bench = owner;
    bench->fired_count++;
    assert_int_equal(poller_set(bench->poller, &bench->timers[0], 1), 0);
}

static void a_timer_that_is_always_due_does_not_hold_the_step(void **state)
{
    struct bench *bench = bench_open();
    bench->timers[0] = (struct poller_timer){.fired = set_again_to_the_past, .owner = bench};
    assert_int_equal(poller_set(bench->poller, &bench->timers[0], 1), 0);
    assert_int_equal(poller_step(bench->poller, NSEC_NEVER), 1);
    assert_int_equal(poller_step(bench->poller, NSEC_NEVER), 1);
    poller_unset(bench->poller, &bench->timers[0]);
    assert_int_equal(poller_set(bench->poller, &bench->timers[0], NSEC_NEVER), 0);
    poller_step(bench->poller, 0); /* the timerfd was still armed for it */
    assert_int_equal(bench->fired_count, 2);
    bench_close(bench);
}

struct keeper {
    struct bench *bench;
    _Atomic int done; /* both threads add their callbacks; the lock orders the rest */
    bool stop;        /* under the lock */
};

static void keep(void *argument)
{
    struct keeper *keeper = argument;
    for (bool stop = false; !stop;) {
        int called = poller_step(keeper->bench->poller, NSEC_NEVER);
        atomic_fetch_add_explicit(&keeper->done, called, memory_order_release);
        lock_take(&keeper->bench->lock);
        stop = keeper->stop;
        lock_drop(&keeper->bench->lock);
    }
}

/* Waits for the keeper, or does the work between two of its steps. */
static void await(struct keeper *keeper, int count)
{
    nsec deadline = clock_after(10 * NSEC_PER_SEC);
    while (atomic_load_explicit(&keeper->done, memory_order_acquire) < count) {
        assert_true(clock_now() < deadline);
        int called = poller_step(keeper->bench->poller, clock_after(1000000));
        atomic_fetch_add_explicit(&keeper->done, called, memory_order_release);
    }
}

static void a_sleeper_sees_what_other_threads_add(void **state)
{
    struct bench *bench = bench_open();
    static struct keeper keeper;
    static struct sleeper sleeper;
    keeper.bench = bench;
    struct poller_timer far = {.fired = timer_fired, .owner = bench};
    bench->timers[0] = (struct poller_timer){.fired = timer_fired, .owner = bench};
    assert_int_equal(poller_set(bench->poller, &far, clock_after(1000 * NSEC_PER_SEC)), 0);
    sleeper_start(&sleeper, keep, &keeper);
    for (int i = 0; i < 100; i++) {
        lock_take(&bench->lock);
        assert_int_equal(
            poller_add(bench->poller, bench->fd[0], EPOLLIN, first_ready, bench, &bench->watch[0]),
            0);
        assert_int_equal(poller_set(bench->poller, &bench->timers[0], clock_after(10000)), 0);
        lock_drop(&bench->lock);
        ring(bench->fd[0]);
        await(&keeper, 2 * i + 2);
        lock_take(&bench->lock);
        poller_remove(bench->poller, bench->watch[0]);
        bench->watch[0] = NULL;
        lock_drop(&bench->lock);
    }
    lock_take(&bench->lock);
    keeper.stop = true;
    lock_drop(&bench->lock);
    poller_wake(bench->poller);
    sleeper_assert_woken(&sleeper);
    assert_int_equal(bench->calls[0], 100);
    assert_int_equal(bench->fired_count, 100);
    poller_unset(bench->poller, &far);
    bench_close(bench);
}

static void step_once(void *argument)
{
    struct bench *bench = argument;
    poller_step(bench->poller, NSEC_NEVER);
}

/* Otherwise the memory of watches that are added and removed while a thread sleeps would grow for
 * ever. */
static void a_sleeper_is_woken_to_free_many_removed_watches(void **state)
{
    struct bench *bench = bench_open();
    static struct sleeper sleeper;
    sleeper_start(&sleeper, step_once, bench);
    lock_take(&bench->lock);
    for (unsigned i = 0; i < 64; i++) {
        struct poller_watch *watch;
        assert_int_equal(
            poller_add(bench->poller, bench->fd[0], EPOLLIN, first_ready, bench, &watch), 0);
        poller_remove(bench->poller, watch);
    }
    lock_drop(&bench->lock);
    sleeper_assert_woken(&sleeper);
    bench_close(bench);
}

static void a_wake_ends_the_next_step(void **state)
{
    struct bench *bench = bench_open();
    poller_wake(bench->poller);
    poller_wake(bench->poller);
    assert_true(readable(poller_fd(bench->poller)));
    assert_int_equal(poller_step(bench->poller, NSEC_NEVER), 0);
    assert_false(readable(poller_fd(bench->poller)));
    nsec until = clock_after(2000000);
    assert_int_equal(poller_step(bench->poller, until), 0);
    assert_true(clock_now() >= until);
    bench_close(bench);
}

TEST_MAIN(TEST(descriptors_call_their_owners),
          TEST(a_removed_watch_is_not_called_though_its_event_was_fetched),
          TEST(timers_fire_in_order), TEST(a_timer_that_is_always_due_does_not_hold_the_step),
          TEST(a_sleeper_sees_what_other_threads_add),
          TEST(a_sleeper_is_woken_to_free_many_removed_watches), TEST(a_wake_ends_the_next_step))
