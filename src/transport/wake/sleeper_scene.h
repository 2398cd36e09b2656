#pragma once
/* sleeper_scene: a thread of a test that makes one call which sleeps until another thread wakes it.
 *
 * The test waits until the thread really sleeps, does what must wake it, and asserts that the call
 * returned. A lost wake-up is then a failed assertion, not a test that hangs. A thread that was not
 * woken outlives its test, so a sleeper and everything that its call uses are static. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/clock.h"
#include "transport/wake/thread.h"

#define SLEEPER_PATIENCE_NSEC (20 * NSEC_PER_SEC) /* long enough for a busy machine */
#define SLEEPER_CHECKS        5 /* in a row: the call may wait for a lock before it sleeps */

struct sleeper {
    void (*call)(void *argument);
    void *argument;
    struct thread thread;
    _Atomic int id;    /* the kernel's number of the thread; stored by the thread with release */
    _Atomic bool done; /* the call returned; the thread stores it with release */
};

static void *sleeper_run(void *argument)
{
    struct sleeper *sleeper = argument;
    atomic_store_explicit(&sleeper->id, gettid(), memory_order_release);
    sleeper->call(sleeper->argument);
    atomic_store_explicit(&sleeper->done, true, memory_order_release);
    return NULL;
}

static inline bool sleeper_is_done(struct sleeper *sleeper)
{
    return atomic_load_explicit(&sleeper->done, memory_order_acquire);
}

/* The thread's state according to the kernel: R runs, S sleeps. */
static inline char sleeper_state(struct sleeper *sleeper)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat",
             atomic_load_explicit(&sleeper->id, memory_order_acquire));
    FILE *file = fopen(path, "re");
    if (!file)
        return state;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(file);
    return state;
}

/* Starts the thread. Its call need not sleep. */
static inline void sleeper_begin(struct sleeper *sleeper, void (*call)(void *argument),
                                 void *argument)
{
    *sleeper = (struct sleeper){.call = call, .argument = argument};
    assert_int_equal(thread_start(&sleeper->thread, "sleeper", sleeper_run, sleeper), 0);
}

/* Starts the thread and returns when it sleeps in its call. */
static inline void sleeper_start(struct sleeper *sleeper, void (*call)(void *argument),
                                 void *argument)
{
    sleeper_begin(sleeper, call, argument);
    nsec deadline = clock_after(SLEEPER_PATIENCE_NSEC);
    for (unsigned checks = 0; checks < SLEEPER_CHECKS;) {
        bool began = atomic_load_explicit(&sleeper->id, memory_order_acquire);
        checks = began && sleeper_state(sleeper) == 'S' ? checks + 1 : 0;
        assert_false(sleeper_is_done(sleeper)); /* else it did not sleep */
        assert_true(clock_now() < deadline);
        clock_nap(100 * 1000);
    }
}

/* Asserts that the call returned, now that its wake-up was sent. */
static inline void sleeper_assert_woken(struct sleeper *sleeper)
{
    nsec deadline = clock_after(SLEEPER_PATIENCE_NSEC);
    while (!sleeper_is_done(sleeper)) {
        assert_true(clock_now() < deadline);
        clock_nap(100 * 1000);
    }
    thread_join(&sleeper->thread);
}
