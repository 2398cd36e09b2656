#include "topology/measure/shortest_paths.h"

#include "base/rng.h"
#include "base/test.h"
#include "topology/topology.h"

static struct shortest_paths count(const struct graph *graph, uint32_t from, uint32_t to)
{
    struct shortest_paths paths;
    assert_int_equal(shortest_paths_count(&paths, graph, from, to, NULL), OK);
    return paths;
}

/* Offsets (3,4,5): every order of 3 + 4 + 5 steps, 12! / (3! 4! 5!). */
static void the_paths_of_a_torus_are_counted_by_a_multinomial(void **state)
{
    struct topology torus;
    assert_int_equal(topology_build(&torus, "torus:9x9x11", NULL), OK);
    uint32_t to = topology_node_at(&torus, (uint32_t[]){3, 4, 5});
    struct shortest_paths paths = count(&torus.graph, 0, to);
    assert_true(paths.connected && !paths.saturated);
    assert_int_equal(paths.distance, 12);
    assert_true(paths.count == 27720);
    topology_fini(&torus);
}

static void half_way_round_a_ring_there_are_two_paths(void **state)
{
    struct topology ring;
    assert_int_equal(topology_build(&ring, "torus:8", NULL), OK);
    assert_true(count(&ring.graph, 0, 4).count == 2);
    assert_true(count(&ring.graph, 0, 3).count == 1);
    assert_true(count(&ring.graph, 5, 5).count == 1);
    assert_int_equal(count(&ring.graph, 5, 5).distance, 0);
    topology_fini(&ring);
}

static void chain_of_pairs(struct graph *graph, uint32_t nodes)
{
    struct link links[600];
    for (uint32_t i = 0; i + 1 < nodes; i++)
        links[2 * i] = links[2 * i + 1] = (struct link){i, i + 1, PORT_ANY, PORT_ANY};
    assert_int_equal(graph_make(graph, nodes, links, 2 * (nodes - 1), NULL), OK);
}

/* Two parallel cables at each of k steps: 2^k paths, up to the limit of the type. */
static void counts_are_exact_until_they_are_saturated(void **state)
{
    struct graph chain;
    chain_of_pairs(&chain, 140);
    struct shortest_paths most = count(&chain, 0, 127), beyond = count(&chain, 0, 128);
    assert_true(most.count == (uint128)1 << 127 && !most.saturated);
    assert_true(beyond.saturated && beyond.count == ~(uint128)0);
    assert_true(count(&chain, 0, 139).saturated);
    graph_fini(&chain);
}

/* Enumerates by depth-first search; every step must lead nearer to the target. */
static uint64_t enumerate(const struct graph *graph, uint32_t from, uint32_t to, uint32_t hops)
{
    uint64_t sum = 0;
    if (hops == 0)
        return from == to;
    for (uint32_t slot = graph->first[from]; slot < graph->first[from + 1]; slot++)
        sum += enumerate(graph, graph->to[slot], to, hops - 1);
    return sum;
}

/* A walk of d hops between nodes d apart is a shortest path. */
static void counts_agree_with_enumeration(void **state)
{
    struct rng rng = rng_make(6, 0);
    for (int round = 0; round < 100; round++) {
        struct link links[30];
        struct graph graph;
        uint32_t links_count = 0;
        for (int i = 0; i < 30; i++) {
            uint32_t a = (uint32_t)rng_below(&rng, 16), b = (uint32_t)rng_below(&rng, 16);
            if (a != b)
                links[links_count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
        }
        assert_int_equal(graph_make(&graph, 16, links, links_count, NULL), OK);
        struct shortest_paths paths = count(&graph, 0, 1);
        if (paths.connected) {
            assert_true(enumerate(&graph, 0, 1, paths.distance) == paths.count);
            for (uint32_t less = 0; less < paths.distance; less++)
                assert_int_equal(enumerate(&graph, 0, 1, less), 0);
        } else {
            assert_true(paths.count == 0 && paths.distance == 0);
        }
        graph_fini(&graph);
    }
}

static void disconnected_nodes_have_no_path(void **state)
{
    struct graph graph;
    assert_int_equal(graph_make(&graph, 2, NULL, 0, NULL), OK);
    assert_false(count(&graph, 0, 1).connected);
    assert_true(count(&graph, 0, 1).count == 0);
    graph_fini(&graph);
}

TEST_MAIN(TEST(the_paths_of_a_torus_are_counted_by_a_multinomial),
          TEST(half_way_round_a_ring_there_are_two_paths),
          TEST(counts_are_exact_until_they_are_saturated), TEST(counts_agree_with_enumeration),
          TEST(disconnected_nodes_have_no_path))
