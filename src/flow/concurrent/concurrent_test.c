#include "flow/concurrent/concurrent.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

static struct topology built(const char *spec)
{
    struct topology topology;
    assert_int_equal(topology_build(&topology, spec, NULL), OK);
    return topology;
}

/* --- exact values, where symmetry gives them --- */

static void check_all_to_all(const char *spec, double exact)
{
    struct topology topology = built(spec);
    struct traffic traffic;
    struct concurrent found;
    assert_int_equal(traffic_all_to_all(&traffic, &topology, NULL), OK);
    struct concurrent_options options = {.gap = 0.001};
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &options, NULL), OK);
    if (!(found.gap <= 0.001 && found.lower <= exact * (1 + 1e-9) &&
          exact <= found.upper * (1 + 1e-9)))
        fail_msg("%s: %.9g to %.9g, and %.9g is exact", spec, found.lower, found.upper, exact);
    concurrent_fini(&found);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void edge_transitive_graphs_have_their_exact_throughput(void **state)
{
    check_all_to_all("degree-diameter:10,3,2", 1.0 / 5);  /* Petersen */
    check_all_to_all("degree-diameter:50,7,2", 1.0 / 13); /* Hoffman-Singleton */
    check_all_to_all("novacube:4x4", 1.0 / 5);            /* Clebsch */
    check_all_to_all("torus:2", 1);
    check_all_to_all("torus:2x2", 1.0 / 2);
    check_all_to_all("torus:2x2x2", 1.0 / 4);
    check_all_to_all("torus:2x2x2x2x2", 1.0 / 16);
}

static void even_tori_have_their_exact_throughput(void **state)
{
    check_all_to_all("torus:4", 8 / pow(4, 2));
    check_all_to_all("torus:12", 8 / pow(12, 2));
    check_all_to_all("torus:6x6", 8 / pow(6, 3));
    check_all_to_all("torus:8x8", 8 / pow(8, 3));
    check_all_to_all("torus:4x4x4", 8 / pow(4, 4));
}

static void a_fat_tree_carries_every_permutation(void **state)
{
    static const char *const specs[] = {"fattree:k=4", "fattree:k=6", "fattree:k=8"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology = built(specs[i]);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct traffic traffic;
            struct concurrent found;
            struct concurrent_options options = {.gap = 0.001};
            assert_int_equal(traffic_permutation(&traffic, &topology, seed, NULL), OK);
            assert_int_equal(concurrent_solve(&found, &topology, &traffic, &options, NULL), OK);
            assert_true(found.lower <= 1 + 1e-9 && found.upper >= 1 - 1e-9 && found.gap <= 0.001);
            concurrent_fini(&found);
            traffic_fini(&traffic);
        }
        topology_fini(&topology);
    }
}

/* --- the result is what the header says --- */

static void the_flow_fits_and_carries_every_demand(void **state)
{
    struct topology topology = built("jellyfish:n=40,degree=5,seed=3");
    struct traffic traffic;
    struct concurrent found;
    struct concurrent_options options = {.gap = 0.02};
    assert_int_equal(traffic_permutation(&traffic, &topology, 7, NULL), OK);
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &options, NULL), OK);
    double *load = calloc(graph_channel_count(&topology.graph), sizeof *load);
    assert_non_null(load);
    assert_int_equal(found.flow.pair_count, traffic.count);
    for (size_t k = 0; k < traffic.count; k++) {
        double sum = 0;
        for (size_t p = found.flow.pair_first[k]; p < found.flow.pair_first[k + 1]; p++) {
            uint32_t at = traffic.demands[k].from;
            for (size_t h = found.flow.path_first[p]; h < found.flow.path_first[p + 1]; h++) {
                assert_int_equal(graph_channel_from(&topology.graph, found.flow.channels[h]), at);
                at = graph_channel_to(&topology.graph, found.flow.channels[h]);
                load[found.flow.channels[h]] += found.rates[p];
            }
            assert_int_equal(at, traffic.demands[k].to);
            assert_true(found.rates[p] > 0);
            sum += found.rates[p];
        }
        assert_true(fabs(sum - found.lower * traffic.demands[k].amount) <= 1e-12);
    }
    for (size_t c = 0; c < graph_channel_count(&topology.graph); c++)
        assert_true(load[c] <= 1 + 1e-12 && found.weights[c] > 0);
    free(load);
    concurrent_fini(&found);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void the_solver_stops_when_enough_or_too_little_is_proved(void **state)
{
    struct topology topology = built("jellyfish:n=60,degree=6,seed=1");
    struct traffic traffic;
    struct concurrent found;
    assert_int_equal(traffic_permutation(&traffic, &topology, 1, NULL), OK);
    struct concurrent_options enough = {.gap = 1e-6, .enough = 1};
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &enough, NULL), OK);
    assert_true(found.lower >= 1 && found.gap > 1e-6);
    concurrent_fini(&found);
    struct concurrent_options too_little = {.gap = 1e-6, .too_little = 5};
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &too_little, NULL), OK);
    assert_true(found.upper < 5 && found.gap > 1e-6);
    concurrent_fini(&found);
    struct concurrent_options tired = {.gap = 1e-9, .phase_max = 3};
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &tired, NULL), OK);
    assert_int_equal(found.phases, 3);
    assert_true(found.lower <= found.upper);
    concurrent_fini(&found);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

/* --- errors --- */

static void demands_without_a_path_are_named(void **state)
{
    static const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    struct traffic traffic;
    struct concurrent found;
    struct why why;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 4, links, 2, NULL), OK);
    struct demand *demands = calloc(2, sizeof *demands);
    assert_non_null(demands);
    demands[0] = (struct demand){0, 1, 1};
    demands[1] = (struct demand){0, 3, 1};
    assert_int_equal(traffic_make(&traffic, demands, 2, NULL), OK);
    struct concurrent_options options = {.gap = 0.01};
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &options, &why), ERR_NO);
    assert_string_equal(why.text, "the traffic has a demand from 0 to 3, but there is no path");
    traffic.count = 0;
    assert_int_equal(concurrent_solve(&found, &topology, &traffic, &options, &why), ERR_INPUT);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

TEST_MAIN(TEST(edge_transitive_graphs_have_their_exact_throughput),
          TEST(even_tori_have_their_exact_throughput), TEST(a_fat_tree_carries_every_permutation),
          TEST(the_flow_fits_and_carries_every_demand),
          TEST(the_solver_stops_when_enough_or_too_little_is_proved),
          TEST(demands_without_a_path_are_named))
