#include "routing/paths/k_shortest.h"

#include "base/rng.h"
#include "base/test.h"
#include "routing/paths/paths_test.h"
#include "routing/paths/yen.h"
#include "topology/measure/shortest_paths.h"
#include "topology/topology.h"

#define SEED 73

/* Checks that the lengths are those of Yen's algorithm, and the paths are in order. */
static void against_yen(const struct graph *graph, struct k_shortest *search, struct yen *yen,
                        uint32_t from, uint32_t to, uint32_t k, uint64_t seed)
{
    struct path_set ours = {0}, theirs = {0};
    struct rng rng = rng_make(seed, 9);
    assert_int_equal(k_shortest_find(search, from, to, k, K_SHORTEST_ANY, seed, &ours, NULL), OK);
    assert_int_equal(path_set_pair(&theirs, NULL), OK);
    assert_int_equal(yen_find(yen, from, to, k, UINT32_MAX, &rng, &theirs, NULL), OK);
    assert_int_equal(ours.pair_count, 1);
    assert_int_equal(ours.path_count, theirs.path_count);
    for (size_t path = 0; path < ours.path_count; path++)
        assert_int_equal(path_set_hops(&ours, path), path_set_hops(&theirs, path));
    paths_test_check(graph, &ours, 0, from, to);
    path_set_fini(&ours);
    path_set_fini(&theirs);
}

/* Checks the number of paths of the least length: all of them, or k. */
static void against_count(const struct graph *graph, struct k_shortest *search, uint32_t from,
                          uint32_t to, uint32_t k, uint64_t seed)
{
    struct path_set set = {0};
    struct shortest_paths paths;
    assert_int_equal(shortest_paths_count(&paths, graph, from, to, NULL), OK);
    assert_int_equal(k_shortest_find(search, from, to, k, K_SHORTEST_EQUAL, seed, &set, NULL), OK);
    assert_int_equal(set.path_count, paths.count < k ? (uint32_t)paths.count : k);
    for (size_t path = 0; path < set.path_count; path++)
        assert_int_equal(path_set_hops(&set, path), paths.distance);
    paths_test_check(graph, &set, 0, from, to);
    path_set_fini(&set);
}

static void some_pairs(const struct graph *graph, int pairs, uint32_t k_max, struct rng *rng)
{
    struct k_shortest *search;
    struct yen *yen;
    assert_int_equal(k_shortest_open(&search, graph, NULL), OK);
    assert_int_equal(yen_open(&yen, graph, NULL), OK);
    for (int i = 0; i < pairs; i++) {
        uint32_t from = (uint32_t)rng_below(rng, graph->node_count);
        uint32_t to =
            (from + 1 + (uint32_t)rng_below(rng, graph->node_count - 1)) % graph->node_count;
        uint32_t k = (uint32_t)rng_below(rng, k_max + 1);
        against_yen(graph, search, yen, from, to, k, rng_next(rng));
        against_count(graph, search, from, to, k, rng_next(rng));
    }
    yen_close(yen);
    k_shortest_close(search);
}

static void random_graphs_agree_with_yen(void **state)
{
    print_message("# seed %d\n", SEED);
    struct rng rng = rng_make(SEED, 0);
    for (int round = 0; round < 500; round++) {
        struct graph graph = paths_test_graph(
            (enum paths_test_kind)(round % PATHS_KIND_COUNT),
            2 + (uint32_t)rng_below(&rng, round % 2 ? 10 : PATHS_TEST_NODES - 1), &rng);
        some_pairs(&graph, 8, 20, &rng);
        graph_fini(&graph);
    }
}

static void networks_agree_with_yen(void **state)
{
    static const char *const specs[] = {
        "torus:5x6",   "torus:2x2x3",         "torus:21",
        "torus:97",    "torus:2x40",          "novacube:4x4",
        "fattree:k=4", "swdc-ring:30,seed=1", "jellyfish:n=60,degree=5,seed=3",
        NULL,
    };
    struct rng rng = rng_make(SEED, 1);
    for (const char *const *spec = specs; *spec; spec++) {
        struct topology topology;
        struct why why = {{0}};
        if (topology_build(&topology, *spec, &why))
            fail_msg("%s", why.text);
        some_pairs(&topology.graph, 100, 30, &rng);
        topology_fini(&topology);
    }
}

/* From the clique's exit there is one path; a search that only counts steps would try all walks
 * within the clique: 36! of them. */
static void a_clique_at_the_end_of_a_corridor_is_fast(void **state)
{
    struct link links[PATHS_TEST_NODES * PATHS_TEST_NODES];
    uint32_t count = 0;
    const uint32_t inside = 36, end = 40;
    for (uint32_t a = 0; a < inside; a++)
        for (uint32_t b = a + 1; b < inside; b++)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    for (uint32_t v = inside; v < end; v++)
        links[count++] = (struct link){v - 1, v, PORT_ANY, PORT_ANY};
    struct graph graph;
    struct k_shortest *search;
    struct path_set set = {0};
    assert_int_equal(graph_make(&graph, end, links, count, NULL), OK);
    assert_int_equal(k_shortest_open(&search, &graph, NULL), OK);
    assert_int_equal(k_shortest_find(search, inside - 1, end - 1, 8, K_SHORTEST_ANY, 1, &set, NULL),
                     OK);
    assert_int_equal(set.path_count, 1);
    /* from within: 1 direct path, 34 through one other node, and then many */
    assert_int_equal(k_shortest_find(search, 0, end - 1, 50, K_SHORTEST_ANY, 1, &set, NULL), OK);
    assert_int_equal(set.path_count, 51);
    assert_int_equal(path_set_hops(&set, 1), 5);
    assert_int_equal(path_set_hops(&set, 2), 6);
    assert_int_equal(path_set_hops(&set, 35), 6);
    assert_int_equal(path_set_hops(&set, 36), 7);
    paths_test_check(&graph, &set, 1, 0, end - 1);
    path_set_fini(&set);
    k_shortest_close(search);
    graph_fini(&graph);
}

/* Nearly all walks on a ring turn back somewhere. The second path is the other way round, at a
 * slack that is far beyond the table for most pairs. */
static void both_ways_round_a_long_ring_are_found(void **state)
{
    enum { NODES = 200 };
    struct topology ring;
    struct k_shortest *search;
    assert_int_equal(topology_build(&ring, "torus:200", NULL), OK);
    assert_int_equal(k_shortest_open(&search, &ring.graph, NULL), OK);
    for (uint32_t pair = 0; pair < NODES * NODES; pair++) {
        uint32_t from = pair % NODES, to = pair / NODES;
        uint32_t up = (to + NODES - from) % NODES, down = NODES - up;
        struct path_set set = {0};
        if (from == to)
            continue;
        assert_int_equal(k_shortest_find(search, from, to, 3, K_SHORTEST_ANY, 1, &set, NULL), OK);
        assert_int_equal(set.path_count, 2);
        assert_int_equal(path_set_hops(&set, 0), up < down ? up : down);
        assert_int_equal(path_set_hops(&set, 1), up < down ? down : up);
        paths_test_check(&ring.graph, &set, 0, from, to);
        path_set_fini(&set);
    }
    k_shortest_close(search);
    topology_fini(&ring);
}

static void earlier_searches_change_nothing(void **state)
{
    struct topology jellyfish;
    struct k_shortest *used, *fresh;
    struct rng rng = rng_make(SEED, 2);
    assert_int_equal(topology_build(&jellyfish, "jellyfish:n=40,degree=4,seed=1", NULL), OK);
    assert_int_equal(k_shortest_open(&used, &jellyfish.graph, NULL), OK);
    for (int i = 0; i < 200; i++) {
        uint32_t from = (uint32_t)rng_below(&rng, 40), to = (uint32_t)rng_below(&rng, 40);
        uint32_t k = 1 + (uint32_t)rng_below(&rng, 100);
        struct path_set one = {0}, other = {0};
        assert_int_equal(k_shortest_open(&fresh, &jellyfish.graph, NULL), OK);
        assert_int_equal(k_shortest_find(used, from, to, k, K_SHORTEST_ANY, 5, &one, NULL), OK);
        assert_int_equal(k_shortest_find(fresh, from, to, k, K_SHORTEST_ANY, 5, &other, NULL), OK);
        assert_int_equal(one.path_count, other.path_count);
        assert_int_equal(one.hop_count, other.hop_count);
        if (one.hop_count)
            assert_memory_equal(one.channels, other.channels, one.hop_count * sizeof *one.channels);
        path_set_fini(&one);
        path_set_fini(&other);
        k_shortest_close(fresh);
    }
    k_shortest_close(used);
    topology_fini(&jellyfish);
}

/* Seed and pair break ties: over many seeds, each of the 20 shortest paths is chosen as the only
 * path about equally often. */
static void ties_are_broken_by_the_seed(void **state)
{
    struct topology torus;
    struct k_shortest *search;
    uint32_t first_up = 0;
    assert_int_equal(topology_build(&torus, "torus:8x8", NULL), OK);
    assert_int_equal(k_shortest_open(&search, &torus.graph, NULL), OK);
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct path_set set = {0};
        assert_int_equal(k_shortest_find(search, 0, 27, 1, K_SHORTEST_ANY, seed, &set, NULL), OK);
        first_up += graph_channel_to(&torus.graph, set.channels[0]) == 1;
        path_set_fini(&set);
    }
    assert_in_range(first_up, 150, 250); /* 200 expected, deviation 10 */
    k_shortest_close(search);
    topology_fini(&torus);
}

static void a_node_reaches_itself_with_no_hops(void **state)
{
    struct rng rng = rng_make(SEED, 3);
    struct graph ring = paths_test_graph(PATHS_RING, 5, &rng);
    struct k_shortest *search;
    struct path_set set = {0};
    assert_int_equal(k_shortest_open(&search, &ring, NULL), OK);
    assert_int_equal(k_shortest_find(search, 2, 2, 4, K_SHORTEST_ANY, 1, &set, NULL), OK);
    assert_int_equal(set.pair_count, 1);
    assert_int_equal(set.path_count, 1);
    assert_int_equal(set.hop_count, 0);
    path_set_fini(&set);
    k_shortest_close(search);
    graph_fini(&ring);
}

static void demands_keep_their_order(void **state)
{
    struct topology jellyfish;
    struct traffic traffic;
    struct path_set set;
    struct k_shortest *search;
    assert_int_equal(
        topology_build(&jellyfish, "jellyfish:servers=48,switches=24,ports=6,seed=1", NULL), OK);
    assert_int_equal(traffic_permutation(&traffic, &jellyfish, 4, NULL), OK);
    assert_int_equal(k_shortest_traffic(&set, &jellyfish, &traffic, 6, K_SHORTEST_ANY, 8, NULL),
                     OK);
    assert_int_equal(set.pair_count, traffic.count);
    assert_int_equal(k_shortest_open(&search, &jellyfish.graph, NULL), OK);
    for (size_t i = 0; i < traffic.count; i++) {
        const struct demand *demand = &traffic.demands[i];
        struct path_set alone = {0};
        paths_test_check(&jellyfish.graph, &set, i, demand->from, demand->to);
        assert_int_equal(
            k_shortest_find(search, demand->from, demand->to, 6, K_SHORTEST_ANY, 8, &alone, NULL),
            OK);
        assert_int_equal(set.pair_first[i + 1] - set.pair_first[i], 6);
        assert_memory_equal(set.channels + set.path_first[set.pair_first[i]], alone.channels,
                            alone.hop_count * sizeof *alone.channels);
        path_set_fini(&alone);
    }
    k_shortest_close(search);
    path_set_fini(&set);
    traffic_fini(&traffic);
    topology_fini(&jellyfish);
}

static void a_demand_without_a_path_is_named(void **state)
{
    struct topology parts;
    struct traffic traffic;
    struct path_set set;
    struct why why = {{0}};
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct demand *demands = calloc(2, sizeof *demands);
    assert_non_null(demands);
    demands[0] = (struct demand){0, 1, 1};
    demands[1] = (struct demand){1, 2, 1};
    assert_int_equal(topology_init(&parts, TOPOLOGY_OTHER, true, 4, links, 2, NULL), OK);
    assert_int_equal(traffic_make(&traffic, demands, 2, NULL), OK);
    assert_int_equal(k_shortest_traffic(&set, &parts, &traffic, 2, K_SHORTEST_ANY, 1, &why),
                     ERR_NO);
    assert_string_equal(why.text, "the traffic has a demand from 1 to 2, but there is no path");
    traffic_fini(&traffic);
    topology_fini(&parts);
}

TEST_MAIN(TEST(random_graphs_agree_with_yen), TEST(networks_agree_with_yen),
          TEST(a_clique_at_the_end_of_a_corridor_is_fast),
          TEST(both_ways_round_a_long_ring_are_found), TEST(earlier_searches_change_nothing),
          TEST(ties_are_broken_by_the_seed), TEST(a_node_reaches_itself_with_no_hops),
          TEST(demands_keep_their_order), TEST(a_demand_without_a_path_is_named))
