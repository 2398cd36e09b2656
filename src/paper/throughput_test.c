#include "paper/throughput.h"

#include <math.h>

#include "base/test.h"
#include "routing/traffic/traffic.h"
#include "topology/measure/failure.h"

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}

static void means_are_taken_over_all_runs_and_are_at_most_one(void **state)
{
    struct throughput_bracket throughput = {0};
    throughput_add(&throughput, 0.5, 0.6);
    throughput_add(&throughput, 0.9, 1.5);
    throughput_add(&throughput, 1.2, 1.3);
    assert_int_equal(throughput.runs, 3);
    assert_near(throughput.lower, 2.4 / 3);
    assert_near(throughput.upper, 2.6 / 3);
    assert_near(throughput.least, 0.5);
    assert_near(throughput.most, 1);
    (void)state;
}

static void the_bounds_of_a_ratio_contain_every_possible_ratio(void **state)
{
    struct throughput_bracket one = {0}, other = {0};
    throughput_add(&one, 0.6, 0.9);
    throughput_add(&other, 0.5, 0.75);
    struct throughput_bracket ratio = throughput_ratio(&one, &other);
    assert_near(ratio.lower, 0.6 / 0.75);
    assert_near(ratio.upper, 0.9 / 0.5);
    (void)state;
}

/* Two switches and one cable: the servers whose partner is on the other switch
 * share the cable in each direction. With two servers each, some permutations do
 * not use the cable at all. */
static void servers_share_the_only_cable(void **state)
{
    struct topology topology;
    struct traffic traffic;
    uint32_t still = 0;
    assert_int_equal(topology_build(&topology, "jellyfish:servers=4,switches=2,ports=3", NULL), OK);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct throughput_bracket throughput = {0};
        struct throughput_both built = {0};
        assert_int_equal(traffic_permutation(&traffic, &topology, seed, NULL), OK);
        double crossing = (4 - traffic.local) / 2;
        traffic_fini(&traffic);
        double expected = crossing > 0 ? 1 / crossing : 1;
        still += crossing == 0;
        assert_int_equal(throughput_add_permutation(&throughput, &topology, seed, 0.01, NULL), OK);
        assert_int_equal(
            throughput_add_spec(&built, "jellyfish:servers=4,switches=2,ports=3", seed, 0.01, NULL),
            OK);
        assert_true(throughput.lower <= expected + 1e-9);
        assert_true(throughput.upper >= expected - 1e-9);
        assert_true(throughput.upper <= throughput.lower * 1.01 + 1e-9);
        assert_near(built.at_once.lower, throughput.lower);
        assert_true(built.mean.upper >= built.at_once.lower - 1e-9);
    }
    assert_in_range(still, 1, 19);
    topology_fini(&topology);
    (void)state;
}

/* The best mean fills the only cable in both directions; servers beyond that get 0. */
static void the_mean_counts_servers_that_get_nothing(void **state)
{
    struct topology topology, broken;
    struct traffic traffic;
    assert_int_equal(topology_build(&topology, "jellyfish:servers=8,switches=2,ports=5", NULL), OK);
    assert_int_equal(failure_apply(&broken, &topology, 1, 0, 1, NULL), OK);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct throughput_bracket mean = {0}, none = {0};
        uint32_t apart = 99;
        assert_int_equal(traffic_permutation(&traffic, &topology, seed, NULL), OK);
        double local = traffic.local, crossing = 8 - local;
        traffic_fini(&traffic);
        double expected = (local + fmin(crossing, 2)) / 8;
        assert_int_equal(throughput_add_mean(&mean, &topology, seed, 0.01, &apart, NULL), OK);
        assert_true(mean.lower <= expected + 1e-9 && mean.upper >= expected - 1e-9);
        assert_true(mean.upper <= mean.lower * 1.01 + 1e-9);
        assert_int_equal(apart, 0);
        assert_int_equal(throughput_add_mean(&none, &broken, seed, 0.01, &apart, NULL), OK);
        assert_near(none.lower, local / 8);
        assert_near(none.upper, local / 8);
        assert_near(apart, crossing);
    }
    topology_fini(&broken);
    topology_fini(&topology);
    (void)state;
}

static void an_invalid_specification_is_refused(void **state)
{
    struct throughput_both both = {0};
    struct why why = {""};
    assert_int_equal(throughput_add_spec(&both, "jellyfish:nonsense=1", 1, 0.01, &why), ERR_USAGE);
    assert_true(why.text[0]);
    assert_int_equal(both.mean.runs, 0);
    (void)state;
}

TEST_MAIN(TEST(means_are_taken_over_all_runs_and_are_at_most_one),
          TEST(the_bounds_of_a_ratio_contain_every_possible_ratio),
          TEST(servers_share_the_only_cable), TEST(the_mean_counts_servers_that_get_nothing),
          TEST(an_invalid_specification_is_refused))
