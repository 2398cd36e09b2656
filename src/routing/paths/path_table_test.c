#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "routing/load/load.h"
#include "routing/paths/k_shortest.h"
#include "routing/paths/paths_test.h"
#include "routing/route_cases.h"

#define SEED 76

static const char *const specs[] = {"degree-diameter:10,3,2", "fattree:k=4",
                                    "jellyfish:n=30,degree=4,seed=2", "torus:4x5", "torus:2x3"};
enum { SPEC_COUNT = sizeof specs / sizeof *specs };

static const struct {
    const char *name;
    enum k_shortest_rule rule;
} algorithms[] = {{"ecmp", K_SHORTEST_EQUAL}, {"k-shortest", K_SHORTEST_ANY}};

static struct route_case *open_with(const char *spec, const char *algorithm, uint32_t ways,
                                    uint64_t seed)
{
    struct route_case *test = array_new(1, sizeof *test);
    struct route_options options = {.ways = ways, .seed = seed};
    assert_non_null(test);
    assert_int_equal(topology_build(&test->topology, spec, NULL), OK);
    assert_int_equal(router_open(&test->router, algorithm, &test->topology, &options, NULL), OK);
    return test;
}

/* Checks that the load of all traffic is that of the paths themselves, with equal shares. */
static void check_loads(const char *spec, int algorithm)
{
    struct route_case *test = open_with(spec, algorithms[algorithm].name, 5, 3);
    struct traffic traffic = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
    struct load load = route_case_load(&test->router, &traffic);
    struct path_set paths;
    size_t size = graph_channel_count(&test->topology.graph);
    double *channels = array_new(size, sizeof *channels), hops = 0, sum = 0;
    assert_non_null(channels);
    assert_int_equal(k_shortest_traffic(&paths, &test->topology, &traffic, 5,
                                        algorithms[algorithm].rule, 3, NULL),
                     OK);
    for (size_t pair = 0; pair < paths.pair_count; pair++) {
        size_t first = paths.pair_first[pair], end = paths.pair_first[pair + 1];
        double amount = traffic.demands[pair].amount, share = amount / (double)(end - first);
        for (size_t hop = paths.path_first[first]; hop < paths.path_first[end]; hop++) {
            channels[paths.channels[hop]] += share;
            hops += share;
        }
        sum += amount;
    }
    for (size_t channel = 0; channel < size; channel++)
        assert_within(load.channels[channel], channels[channel], 1e-12);
    assert_within(load.mean_path, hops / sum, 1e-12);
    free(channels);
    path_set_fini(&paths);
    load_fini(&load);
    traffic_fini(&traffic);
    route_case_close(test);
}

static void loads_are_those_of_the_paths(void **state)
{
    for (int i = 0; i < SPEC_COUNT; i++)
        for (int algorithm = 0; algorithm < 2; algorithm++)
            check_loads(specs[i], algorithm);
}

/* Follows a start of a pair to its end, on lanes that count its hops. */
static uint32_t follow(const struct router *router, uint32_t from, uint32_t to, uint32_t index)
{
    const struct graph *graph = &router->topology->graph;
    struct route_state state;
    struct route_move move = {0};
    uint32_t at = from, hops = 0;
    uint32_t count = router->algorithm->start_count(router, from, to);
    double share = router->algorithm->start(router, from, to, index, &state);
    assert_within(share * count, 1, 1e-12);
    while (router->algorithm->moves(router, at, to, &state, &move)) {
        assert_true(move.lane == hops && move.lane < router->lane_count);
        assert_int_equal(graph_channel_from(graph, move.channel), at);
        at = graph_channel_to(graph, move.channel);
        state = move.next;
        hops++;
    }
    assert_int_equal(at, to);
    return hops;
}

static void every_start_arrives(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < 2 * SPEC_COUNT; i++) {
        struct route_case *test = open_with(specs[i / 2], algorithms[i % 2].name, 0, 1);
        uint32_t nodes = test->topology.graph.node_count, longest = 0;
        for (uint32_t pair = 0; pair < nodes * nodes; pair++) {
            uint32_t from = pair % nodes, to = pair / nodes, walked;
            uint32_t count = test->router.algorithm->start_count(&test->router, from, to);
            assert_true(count >= 1 && count <= 8 && (from != to || count == 1));
            for (uint32_t start = 0; start < count; start++) {
                uint32_t hops = follow(&test->router, from, to, start);
                longest = hops > longest ? hops : longest;
            }
            assert_int_equal(route_walk(&test->router, from, to, &rng, NULL, 0, &walked, NULL), OK);
            assert_true(walked <= longest);
        }
        assert_int_equal(test->router.lane_count, longest);
        route_case_close(test);
    }
}

/* Two ways round a ring of 8 from 0 to 4. */
static void draws_take_all_paths_equally_often(void **state)
{
    struct route_case *test = open_with("torus:8", "ecmp", 64, 1);
    struct rng rng = rng_make(SEED, 1);
    int up = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t channels[4], hops;
        assert_int_equal(route_walk(&test->router, 0, 4, &rng, channels, 4, &hops, NULL), OK);
        assert_int_equal(hops, 4);
        up += graph_channel_to(&test->topology.graph, channels[0]) == 1;
    }
    assert_in_range(up, 420, 580); /* five deviations */
    route_case_close(test);
}

static void impossible_requests_are_refused(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    struct router router;
    struct why why = {{0}};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 4, links, 2, NULL), OK);
    assert_int_equal(router_open(&router, "ecmp", &topology, NULL, &why), ERR_NO);
    assert_string_equal(why.text, "ecmp: there is no path from 0 to 2");
    topology_fini(&topology);
    assert_int_equal(topology_build(&topology, "torus:16x16x16", NULL), OK);
    assert_int_equal(router_open(&router, "k-shortest", &topology, NULL, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "all pairs of 4096 nodes take more than 1 GiB"));
    topology_fini(&topology);
    assert_int_equal(topology_build(&topology, "torus:100x100x100", NULL), OK);
    assert_int_equal(router_open(&router, "ecmp", &topology, NULL, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "all pairs of 1000000 nodes take more than 1 GiB"));
    struct route_options options = {.ways = 4097};
    assert_int_equal(router_open(&router, "k-shortest", &topology, &options, &why), ERR_USAGE);
    assert_string_equal(why.text, "k-shortest: 4097 ways are too many; the maximum is 4096");
    topology_fini(&topology);
}

TEST_MAIN(TEST(loads_are_those_of_the_paths), TEST(every_start_arrives),
          TEST(draws_take_all_paths_equally_often), TEST(impossible_requests_are_refused))
