#include "flow/worst/worst.h"

#include <math.h>
#include <string.h>

#include "base/check.h"
#include "flow/worst/worst_impl.h"
#include "routing/route_cases.h"

static const struct observer quiet = {0};

/* Checks that the result is a permutation of the nodes with servers, that it loads the channel as
 * claimed, and that no other channel has more load, by another way of adding up. */
static void check(const struct router *router, const struct worst *worst)
{
    const struct topology *topology = router->topology;
    uint32_t nodes = topology->graph.node_count;
    uint8_t *taken = array_new(nodes, 1);
    struct traffic traffic;
    assert(taken);
    for (uint32_t v = 0; v < nodes; v++) {
        assert_true(worst->to[v] < nodes && !taken[worst->to[v]]);
        assert_true(worst->to[v] == v || topology->sites[v].servers);
        taken[worst->to[v]] = 1;
    }
    assert_int_equal(worst_traffic(worst, topology, &traffic, NULL), OK);
    struct load load = route_case_load(router, &traffic);
    assert_within(load.max, worst->load, 1e-9);
    assert_within(load.channels[worst->channel], worst->load, 1e-9);
    assert_true(worst->bound >= worst->load && worst->bound < worst->load + 1e-9);
    load_fini(&load);
    traffic_fini(&traffic);
    free(taken);
}

static double solved(const char *spec, const char *algorithm)
{
    struct route_case *test = route_case_open(spec, algorithm);
    struct worst worst, again;
    struct why why = {""};
    if (worst_find(&worst, &test->router, quiet, &why))
        fail_msg("%s", why.text);
    check(&test->router, &worst);
    /* One class at a time, and without symmetry: the same result. */
    assert_int_equal(worst_find_within(&again, &test->router, 1, quiet, NULL), OK);
    assert_within(again.load, worst.load, 1e-12);
    assert_int_equal(again.class_count, worst.class_count);
    worst_fini(&again);
    bool symmetric = test->router.symmetric;
    test->router.symmetric = false;
    assert_int_equal(worst_find(&again, &test->router, quiet, NULL), OK);
    check(&test->router, &again);
    assert_within(again.load, worst.load, 1e-9);
    assert_true(!symmetric || again.class_count > worst.class_count);
    worst_fini(&again);
    double load = worst.load;
    worst_fini(&worst);
    route_case_close(test);
    return load;
}

/* Singh, Dally, Towles and Gupta, "Locality-preserving randomized oblivious routing on torus
 * networks" (SPAA 2002), and a direct computation: dimension order with all ties up is at its worst
 * under a shift by half of an axis. */
static void the_worst_cases_of_the_8_ary_2_cube_are_the_known_ones(void **state)
{
    assert_within(1 / solved("torus:8x8", "valiant"), 0.5, 1e-9);
    assert_within(1 / solved("torus:8x8", "dor"), 0.25, 1e-9);
    assert_within(1 / solved("torus:8x8", "dor-split"), 2.0 / 7, 1e-9);
    assert_within(1 / solved("torus:8x8", "romm"), 0.2083, 5e-5);
    assert_within(1 / solved("torus:8x8", "rlb"), 0.3128, 5e-5);
}

/* Loads of all pairs, and all permutations of the nodes that have servers. */
struct brute {
    uint32_t hosts[8], count;
    size_t channels;
    double *loads[8][8];
    double *sum;
};

static double try_all(struct brute *brute, uint32_t row, uint32_t used)
{
    double best = 0;
    for (size_t c = 0; c < brute->channels && row == brute->count; c++)
        best = fmax(best, brute->sum[c]);
    for (uint32_t column = 0; row < brute->count && column < brute->count; column++) {
        const double *loads = brute->loads[row][column];
        if (used >> column & 1)
            continue;
        for (size_t c = 0; c < brute->channels; c++)
            brute->sum[c] += loads[c];
        best = fmax(best, try_all(brute, row + 1, used | 1u << column));
        for (size_t c = 0; c < brute->channels; c++)
            brute->sum[c] -= loads[c];
    }
    return best;
}

static double tried(const char *spec, const char *algorithm)
{
    struct route_case *test = route_case_open(spec, algorithm);
    struct brute brute = {.channels = graph_channel_count(&test->topology.graph)};
    struct load_walk *walk;
    assert_int_equal(load_walk_open(&walk, &test->router, NULL), OK);
    for (uint32_t v = 0; v < test->topology.graph.node_count; v++)
        if (test->topology.sites[v].servers)
            brute.hosts[brute.count++] = v;
    for (uint32_t a = 0; a < brute.count; a++)
        for (uint32_t b = 0; b < brute.count; b++) {
            double hops = 0;
            brute.loads[a][b] = array_new(brute.channels, sizeof(double));
            assert_non_null(brute.loads[a][b]);
            assert_int_equal(
                load_add(walk, brute.hosts[a], brute.hosts[b], 1, brute.loads[a][b], &hops, NULL),
                OK);
        }
    brute.sum = array_new(brute.channels, sizeof *brute.sum);
    assert_non_null(brute.sum);
    double worst = try_all(&brute, 0, 0);
    for (uint32_t a = 0; a < brute.count; a++)
        for (uint32_t b = 0; b < brute.count; b++)
            free(brute.loads[a][b]);
    free(brute.sum);
    load_walk_close(walk);
    route_case_close(test);
    return worst;
}

static void small_networks_agree_with_trying_all(void **state)
{
    static const char *const cases[][2] = {
        {"torus:5", "dor"},
        {"torus:6", "rlb"},
        {"torus:2x3", "romm"},
        {"torus:2x2x2", "valiant"},
        {"torus:7", "valiant"},
        {"novacube:2x4", "pora"},
        {"novacube:4x2", "link-state"},
        {"jellyfish:n=7,degree=4,seed=1", "ecmp"},
        {"jellyfish:n=8,degree=3,seed=2", "k-shortest"},
        {"jellyfish:servers=5,switches=6,ports=4,seed=3", "link-state"},
        {"fattree:k=4", "ecmp"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_within(solved(cases[i][0], cases[i][1]), tried(cases[i][0], cases[i][1]), 1e-9);
}

static void requests_without_a_worst_case_are_refused(void **state)
{
    struct route_case *test = route_case_open("torus:4x4", "minimal-adaptive");
    struct worst worst;
    struct why why = {""};
    assert_int_equal(worst_find(&worst, &test->router, quiet, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "oblivious"));
    route_case_close(test);
}

TEST_MAIN(TEST(the_worst_cases_of_the_8_ary_2_cube_are_the_known_ones),
          TEST(small_networks_agree_with_trying_all),
          TEST(requests_without_a_worst_case_are_refused))
