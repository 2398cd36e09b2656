/* Compares the timers with a list that is searched from end to end. */

#include "node/core/timers.h"

#include "base/rng.h"
#include "base/test.h"

#define MOST 40

/* The first of the list by moment, then by the order in which they were set; -1: none. */
static int first_of(const struct timer *list, unsigned count)
{
    int first = -1;
    for (unsigned i = 0; i < count; i++)
        if (first < 0 || list[i].at < list[first].at ||
            (list[i].at == list[first].at && list[i].order < list[first].order))
            first = (int)i;
    return first;
}

static void timers_fire_as_a_list_would(void **state)
{
    const uint64_t seed = 3;
    print_message("# seed %lu\n", (unsigned long)seed);
    struct rng rng = rng_make(seed, 0);
    struct timer heap[MOST], list[MOST], taken;
    struct timers timers = {.heap = heap, .most = MOST};
    unsigned count = 0, full = 0;
    for (unsigned step = 0; step < 20000; step++) {
        env_nsec at = (env_nsec)rng_below(&rng, 10); /* many at one moment */
        uint32_t owner = (uint32_t)rng_below(&rng, 5);
        if (rng_below(&rng, 100) < 55) {
            struct timer timer = {at, timers.order, step, owner};
            bool room = count < MOST;
            assert_true(timers_set(&timers, at, owner, step) == room);
            if (room)
                list[count++] = timer;
            full += !room;
        } else {
            int first = first_of(list, count);
            uint64_t order = rng_below(&rng, 4) ? UINT64_MAX : timers.order - MOST / 2;
            bool due = first >= 0 && list[first].at <= at && list[first].order < order;
            assert_true(timers_take(&timers, at, order, &taken) == due);
            if (due) {
                assert_true(taken.order == list[first].order && taken.at == list[first].at);
                assert_true(taken.cookie == list[first].cookie);
                assert_int_equal(taken.owner, list[first].owner);
                list[first] = list[--count];
            }
        }
        int next = first_of(list, count);
        assert_true(timers_next(&timers) == (next < 0 ? ENV_NEVER : list[next].at));
        assert_int_equal(timers.count, count);
    }
    assert_true(full > 0);
}

TEST_MAIN(TEST(timers_fire_as_a_list_would))
