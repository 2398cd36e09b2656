/* Known results for these algorithms on the 8-ary 2-cube (k = 8). Its capacity under uniform
 * traffic is 8 / k = 1, so the share of capacity that an algorithm reaches is 1 / load of the
 * busiest channel. */
#include "routing/load/load.h"

#include "routing/route_cases.h"

static double share_of_capacity(const char *algorithm, const struct traffic *traffic)
{
    struct route_case *test = route_case_open("torus:8x8", algorithm);
    struct load load = route_case_load(&test->router, traffic);
    double share = 1 / load.max;
    load_fini(&load);
    route_case_close(test);
    return share;
}

static void shares_of_capacity_on_the_8_ary_2_cube_are_the_known_ones(void **state)
{
    struct topology cube;
    assert_int_equal(topology_build(&cube, "torus:8x8", NULL), OK);
    struct traffic uniform = route_case_traffic(&cube, TRAFFIC_UNIFORM);
    struct traffic complement = route_case_traffic(&cube, TRAFFIC_COMPLEMENT);
    struct traffic tornado = route_case_traffic(&cube, TRAFFIC_TORNADO);
    struct traffic transpose = route_case_traffic(&cube, TRAFFIC_TRANSPOSE);
    assert_within(share_of_capacity("dor-split", &uniform), 1, 1e-9);
    assert_within(share_of_capacity("dor", &uniform), 0.8, 1e-9);
    assert_within(share_of_capacity("dor", &tornado), 1.0 / 3, 1e-9);
    assert_within(share_of_capacity("valiant", &uniform), 0.5, 1e-9);
    assert_within(share_of_capacity("valiant", &complement), 0.5, 1e-9);
    assert_within(share_of_capacity("valiant", &tornado), 0.5, 1e-9);
    assert_within(share_of_capacity("valiant", &transpose), 0.5, 1e-9);
    assert_within(share_of_capacity("romm", &uniform), 1, 1e-9);
    assert_within(share_of_capacity("romm", &complement), 0.4, 1e-9);
    assert_within(share_of_capacity("romm", &tornado), 1.0 / 3, 1e-9);
    assert_within(share_of_capacity("rlb", &uniform), 16.0 / 21, 1e-9);
    assert_within(share_of_capacity("rlb", &complement), 8.0 / 19, 1e-9);
    assert_within(share_of_capacity("rlb", &tornado), 8.0 / 15, 1e-9);
    traffic_fini(&uniform);
    traffic_fini(&complement);
    traffic_fini(&tornado);
    traffic_fini(&transpose);
    topology_fini(&cube);
}

/* With any permutation, both phases of a path are uniform traffic, whose mean distance is 4 hops.
 */
static void valiant_takes_twice_the_mean_distance(void **state)
{
    struct route_case *test = route_case_open("torus:8x8", "valiant");
    struct traffic complement = route_case_traffic(&test->topology, TRAFFIC_COMPLEMENT);
    struct load load = route_case_load(&test->router, &complement);
    assert_within(load.mean_path, 8, 1e-9);
    load_fini(&load);
    traffic_fini(&complement);
    route_case_close(test);
}

/* Paths of minimal algorithms have the mean distance of the torus. RLB sometimes goes the longer
 * way round an axis: d hops with probability (k - d) / k, else k - d hops. This is 2 d (k - d) / k
 * hops for each axis, on average 42/16 for k = 8. */
static void mean_paths_are_the_known_ones(void **state)
{
    static const struct {
        const char *algorithm;
        double mean;
    } cases[] = {{"dor", 256.0 / 63},
                 {"dor-split", 256.0 / 63},
                 {"romm", 256.0 / 63},
                 {"rlb", 2 * 2.625 * 64 / 63}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_case *test = route_case_open("torus:8x8", cases[i].algorithm);
        struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
        struct load load = route_case_load(&test->router, &uniform);
        assert_within(load.mean_path, cases[i].mean, 1e-9);
        load_fini(&load);
        traffic_fini(&uniform);
        route_case_close(test);
    }
}

TEST_MAIN(TEST(shares_of_capacity_on_the_8_ary_2_cube_are_the_known_ones),
          TEST(valiant_takes_twice_the_mean_distance), TEST(mean_paths_are_the_known_ones))
