#include "transport/wake/monitor.h"

#include "base/test.h"
#include "transport/wake/sleeper_scene.h"

static struct monitor monitor = MONITOR_INIT;
static struct sleeper sleeper;
static unsigned turns; /* not atomic: protected by the monitor */

static void *count(void *argument)
{
    for (unsigned i = 0; i < 10000; i++) {
        monitor_take(&monitor);
        turns++;
        monitor_drop(&monitor);
    }
    return NULL;
}

static void one_thread_holds_the_monitor_at_a_time(void **state)
{
    pthread_t thread;
    turns = 0;
    assert_int_equal(pthread_create(&thread, NULL, count, NULL), 0);
    count(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(turns, 20000);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    monitor_take(&monitor);
    nsec deadline = clock_after(2 * 1000 * 1000);
    while (monitor_wait(&monitor, deadline) == 0)
        continue;
    assert_true(clock_now() >= deadline);
    assert_int_equal(monitor_wait(&monitor, clock_now()), -ETIMEDOUT);
    monitor_drop(&monitor);
}

static void wait_for_turn(void *argument)
{
    monitor_take(&monitor);
    while (turns == 0)
        monitor_wait(&monitor, NSEC_NEVER);
    monitor_drop(&monitor);
}

static void a_wake_ends_a_wait(void **state)
{
    turns = 0;
    sleeper_start(&sleeper, wait_for_turn, NULL);
    monitor_take(&monitor); /* a waiting thread does not hold it */
    turns = 1;
    monitor_wake(&monitor);
    monitor_drop(&monitor);
    sleeper_assert_woken(&sleeper);
}

TEST_MAIN(TEST(one_thread_holds_the_monitor_at_a_time), TEST(a_wait_ends_at_its_deadline),
          TEST(a_wake_ends_a_wait))
