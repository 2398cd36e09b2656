#include "cli/store/times.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define MANY 20000

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint64_t exact(const uint64_t *sorted, unsigned count, double part)
{
    unsigned wanted = (unsigned)ceil(part * count);
    return sorted[wanted ? wanted - 1 : 0];
}

static const double parts[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};

static void quantiles_are_those_of_the_sorted_times(void **state)
{
    static struct times times;
    static uint64_t all[MANY];
    print_message("# seeds 1 to 60\n");
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng rng = rng_make(seed, 2);
        unsigned count = 1 + (unsigned)rng_below(&rng, seed % 3 ? 50 : MANY);
        memset(&times, 0, sizeof times);
        double sum = 0;
        for (unsigned i = 0; i < count; i++) {
            all[i] = rng_next(&rng) >> (1 + rng_below(&rng, 63)); /* of all sizes */
            times_note(&times, (int64_t)all[i]);
            sum += (double)all[i];
        }
        qsort(all, count, sizeof *all, by_value);
        for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
            uint64_t right = exact(all, count, parts[i]);
            uint64_t told = times_quantile(&times, parts[i]);
            assert_true(told >= right && told - right <= right / 128);
        }
        assert_true(times.least == all[0] && times.most == all[count - 1]);
        assert_true(times_quantile(&times, 1) == all[count - 1]);
        assert_within(times_mean(&times), sum / count, sum / count * 1e-12);
    }
}

static void the_sum_of_two_has_the_times_of_both(void **state)
{
    static struct times left, right, both;
    struct rng rng = rng_make(1, 3);
    times_add(&left, &right); /* both are empty */
    assert_int_equal(times_quantile(&left, 0.5), 0);
    for (unsigned i = 0; i < MANY; i++) {
        int64_t time = (int64_t)(rng_next(&rng) >> (20 + rng_below(&rng, 40)));
        times_note(i % 3 ? &left : &right, time);
        times_note(&both, time);
    }
    times_add(&left, &right);
    assert_true(left.count == both.count && left.least == both.least && left.most == both.most);
    assert_memory_equal(left.classes, both.classes, sizeof both.classes);
}

static void the_largest_and_the_smallest_time_have_a_class(void **state)
{
    static struct times times;
    times_note(&times, INT64_MAX);
    times_note(&times, -5);
    times_note(&times, 0);
    assert_true(times.least == 0 && times.most == INT64_MAX);
    assert_true(times_quantile(&times, 1) == INT64_MAX && times_quantile(&times, 0.5) == 0);
}

TEST_MAIN(TEST(quantiles_are_those_of_the_sorted_times), TEST(the_sum_of_two_has_the_times_of_both),
          TEST(the_largest_and_the_smallest_time_have_a_class))
