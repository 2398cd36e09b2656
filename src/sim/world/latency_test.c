/* Compares the time that a share of the added times does not exceed with the exact time; they agree
 * to within a part of a bucket. */
#include "sim/world/latency.h"

#include "base/rng.h"
#include "base/test.h"

static void shares_are_close_to_the_added_times(void **state)
{
    static struct latency latency;
    latency = (struct latency){0};
    assert_true(latency_share(&latency, 0.5) == 0);
    for (psec time = 1; time <= 100000; time++)
        latency_add(&latency, time * 1000);
    assert_true(latency.count == 100000 && latency.least == 1000 && latency.most == 100000000);
    for (double share = 0.01; share < 1; share += 0.01) {
        double found = (double)latency_share(&latency, share);
        assert_within(found / (share * 1e8), 1, 0.04);
    }
    assert_true(latency_share(&latency, 1) == latency.most);
}

static void every_time_has_a_bucket(void **state)
{
    static struct latency latency;
    struct rng rng = rng_make(1, 0);
    print_message("# seed 1\n");
    for (unsigned i = 0; i < 20000; i++) {
        psec time = rng_next(&rng) >> rng_below(&rng, 64);
        latency = (struct latency){0};
        latency_add(&latency, time);
        assert_true(latency_share(&latency, 0.5) == time); /* it is the largest, too */
        latency_add(&latency, PSEC_NEVER);
        psec found = latency_share(&latency, 0.5);
        assert_true(found >= time && found - time <= time / 16 + 1);
    }
}

TEST_MAIN(TEST(shares_are_close_to_the_added_times), TEST(every_time_has_a_bucket))
