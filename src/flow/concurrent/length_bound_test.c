#include "flow/concurrent/length_bound.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "topology/measure/shortest_paths.h"
#include "topology/topology.h"

/* Checks the hops of all demands one by one with another module. */
static void expect_hops(const struct topology *topology, const struct traffic *traffic)
{
    uint32_t *hops = array_new(traffic->count, sizeof *hops);
    assert_non_null(hops);
    assert_int_equal(
        length_bound_hops(&topology->graph, traffic->demands, traffic->count, hops, NULL), OK);
    double sum = 0;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        struct shortest_paths paths;
        assert_int_equal(
            shortest_paths_count(&paths, &topology->graph, demand->from, demand->to, NULL), OK);
        assert_int_equal(hops[i], paths.connected ? paths.distance : HOPS_NONE);
        sum += demand->amount * paths.distance;
    }
    assert_true(fabs(length_bound_sum(traffic->demands, traffic->count, hops) / sum - 1) < 1e-12);
    free(hops);
}

static void hops_are_those_of_shortest_paths(void **state)
{
    static const char *const specs[] = {
        "torus:5x4",   "novacube:4x4x2",
        "fattree:k=4", "jellyfish:servers=120,switches=40,ports=6,seed=2",
        "torus:31",    "torus:2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        struct traffic all, some;
        assert_int_equal(topology_build(&topology, specs[i], NULL), OK);
        assert_int_equal(traffic_all_to_all(&all, &topology, NULL), OK);
        assert_int_equal(traffic_permutation(&some, &topology, 3, NULL), OK);
        expect_hops(&topology, &all);
        expect_hops(&topology, &some);
        struct distance_tally tally = {0};
        assert_int_equal(distance_tally_add(&tally, &topology, 0, topology.graph.node_count, NULL),
                         OK);
        uint32_t *hops = array_new(all.count, sizeof *hops);
        assert_non_null(hops);
        assert_int_equal(length_bound_hops(&topology.graph, all.demands, all.count, hops, NULL),
                         OK);
        assert_true(length_bound_all(&tally) == length_bound_sum(all.demands, all.count, hops));
        free(hops);
        distance_tally_fini(&tally);
        traffic_fini(&all);
        traffic_fini(&some);
        topology_fini(&topology);
    }
}

static void disconnected_nodes_have_no_hops(void **state)
{
    const struct link links[] = {{0, 1, 0, 0}, {2, 3, 0, 0}, {3, 4, 1, 0}};
    struct demand demands[] = {{0, 1, 1}, {0, 2, 1}, {2, 0, 1}, {2, 4, 1}, {5, 0, 1}};
    uint32_t hops[5] = {0};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 6, links, 3, NULL), OK);
    assert_int_equal(length_bound_hops(&graph, demands, 5, hops, NULL), OK);
    assert_int_equal(hops[0], 1);
    assert_int_equal(hops[1], HOPS_NONE);
    assert_int_equal(hops[2], HOPS_NONE);
    assert_int_equal(hops[3], 2);
    assert_int_equal(hops[4], HOPS_NONE);
    graph_fini(&graph);
}

/* On these networks the bound is the throughput itself. */
static void the_bound_is_exact_if_all_channels_can_be_full(void **state)
{
    static const struct {
        const char *spec;
        double all_to_all;
    } cases[] = {{"degree-diameter:10,3,2", 1 / 5.0},
                 {"degree-diameter:50,7,2", 1 / 13.0},
                 {"torus:2x2x2", 1 / 4.0},
                 {"torus:6x6", 8 / 216.0},
                 {"torus:4x4x4", 8 / 256.0},
                 {"novacube:4x4", 1 / 5.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology;
        struct distance_tally tally = {0};
        assert_int_equal(topology_build(&topology, cases[i].spec, NULL), OK);
        assert_int_equal(distance_tally_add(&tally, &topology, 0, topology.graph.node_count, NULL),
                         OK);
        double bound = length_bound(&topology.graph, length_bound_all(&tally));
        assert_true(fabs(bound / cases[i].all_to_all - 1) < 1e-12);
        distance_tally_fini(&tally);
        topology_fini(&topology);
    }
}

TEST_MAIN(TEST(hops_are_those_of_shortest_paths), TEST(disconnected_nodes_have_no_hops),
          TEST(the_bound_is_exact_if_all_channels_can_be_full))
