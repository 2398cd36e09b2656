#include "transport/lock.h"

#include "base/test.h"
#include "transport/thread.h"

#define TURNS 20000

struct shared {
    struct lock lock;
    uint64_t count; /* under the lock */
};

static void *count_up(void *argument)
{
    struct shared *shared = argument;
    for (unsigned i = 0; i < TURNS; i++) {
        lock_take(&shared->lock);
        shared->count++;
        lock_drop(&shared->lock);
    }
    return NULL;
}

static void threads_do_not_lose_each_others_counts(void **state)
{
    struct shared shared = {0};
    struct thread threads[4] = {0};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(thread_start(&threads[i], "count", count_up, &shared), 0);
    for (unsigned i = 0; i < 4; i++)
        thread_join(&threads[i]);
    assert_int_equal(shared.count, 4 * TURNS);
    assert_int_equal(shared.lock.state, 0);
}

TEST_MAIN(TEST(threads_do_not_lose_each_others_counts))
