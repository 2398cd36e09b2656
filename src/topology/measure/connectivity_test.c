/* connectivity: compared with the definition, tried over all subsets. */
#include "topology/measure/connectivity.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"
#include "topology/topology.h"

#define NODES_MAX 10
#define LINKS_MAX 64

static const struct observer silent;

static void random_graph(struct graph *graph, uint32_t nodes, uint32_t links, bool simple,
                         struct rng *rng)
{
    struct link list[LINKS_MAX];
    bool joined[NODES_MAX][NODES_MAX] = {{false}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < links; i++) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a == b || (simple && joined[a][b]))
            continue;
        joined[a][b] = joined[b][a] = true;
        list[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    assert_int_equal(graph_make(graph, nodes, list, count, NULL), OK);
}

/* The smallest number of links with exactly one end in the set, over all sets that contain node
 * 0. */
static uint32_t edge_by_definition(const struct graph *graph)
{
    uint32_t best = UINT32_MAX, all = (1u << graph->node_count) - 1;
    for (uint32_t set = 1; set < all; set += 2) {
        uint32_t cut = 0;
        for (uint32_t e = 0; e < graph->link_count; e++)
            cut += (set >> graph->links[e].a & 1) != (set >> graph->links[e].b & 1);
        best = cut < best ? cut : best;
    }
    return best;
}

/* Are the nodes of the set connected with each other? */
static bool set_connected(const struct graph *graph, uint32_t set)
{
    uint32_t reached = set & (0u - set), last;
    do {
        last = reached;
        for (uint32_t e = 0; e < graph->link_count; e++) {
            uint32_t ends = 1u << graph->links[e].a | 1u << graph->links[e].b;
            if ((ends & set) == ends && (ends & reached))
                reached |= ends;
        }
    } while (reached != last);
    return reached == set;
}

static uint32_t vertex_by_definition(const struct graph *graph)
{
    uint32_t best = graph->node_count - 1, all = (1u << graph->node_count) - 1;
    for (uint32_t gone = 0; gone < all; gone++) {
        uint32_t size = (uint32_t)__builtin_popcount(gone);
        if (size < best && !set_connected(graph, all & ~gone))
            best = size;
    }
    return best;
}

static void both_agree_with_their_definitions(void **state)
{
    const uint64_t seed = 5;
    struct rng rng = rng_make(seed, 0);
    uint32_t histogram[LINKS_MAX] = {0};
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 400; round++) {
        struct graph graph;
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, NODES_MAX - 1);
        uint32_t edge, vertex;
        random_graph(&graph, nodes, (uint32_t)rng_below(&rng, LINKS_MAX), round % 2, &rng);
        assert_int_equal(connectivity_edge(&graph, silent, &edge, NULL), OK);
        assert_int_equal(connectivity_vertex(&graph, silent, &vertex, NULL), OK);
        assert_int_equal(edge, edge_by_definition(&graph));
        assert_int_equal(vertex, vertex_by_definition(&graph));
        histogram[vertex]++;
        graph_fini(&graph);
    }
    for (int kappa = 0; kappa <= 5; kappa++)
        assert_true(histogram[kappa] > 0); /* every value occurs in the cases */
}

/* Two dense halves with few cables between them: the cut is smaller than all degrees, which is rare
 * in random graphs. */
static void a_weak_middle_is_found(void **state)
{
    for (uint32_t bridges = 0; bridges <= 4; bridges++) {
        struct link links[64];
        struct graph graph;
        uint32_t count = 0, edge, vertex;
        for (uint32_t half = 0; half < 2; half++)
            for (uint32_t a = 0; a < 6; a++)
                for (uint32_t b = 0; b < a; b++)
                    links[count++] = (struct link){6 * half + a, 6 * half + b, PORT_ANY, PORT_ANY};
        for (uint32_t i = 0; i < bridges; i++)
            links[count++] = (struct link){i / 2, 6 + i, PORT_ANY, PORT_ANY};
        assert_int_equal(graph_make(&graph, 12, links, count, NULL), OK);
        assert_int_equal(connectivity_edge(&graph, silent, &edge, NULL), OK);
        assert_int_equal(connectivity_vertex(&graph, silent, &vertex, NULL), OK);
        assert_int_equal(edge, bridges);
        assert_int_equal(vertex, (bridges + 1) / 2);
        graph_fini(&graph);
    }
}

/* Ten parallel cables join nodes 1 and 2, and one cable joins each of them to node 0. Every node is
 * a neighbour of 0, so {0} alone is a dominating set and would miss the cut. */
static void a_pair_with_many_parallel_cables_is_a_cut(void **state)
{
    struct link links[LINKS_MAX];
    struct graph graph;
    uint32_t count = 0, edge, vertex;
    for (int i = 0; i < 10; i++)
        links[count++] = (struct link){1, 2, PORT_ANY, PORT_ANY};
    links[count++] = (struct link){0, 1, PORT_ANY, PORT_ANY};
    links[count++] = (struct link){0, 2, PORT_ANY, PORT_ANY};
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = 0; b < a; b++)
            for (int i = 0; i < 3; i++)
                links[count++] = (struct link){a ? a + 2 : 0, b ? b + 2 : 0, PORT_ANY, PORT_ANY};
    assert_int_equal(graph_make(&graph, 8, links, count, NULL), OK);
    assert_int_equal(connectivity_edge(&graph, silent, &edge, NULL), OK);
    assert_int_equal(connectivity_vertex(&graph, silent, &vertex, NULL), OK);
    assert_int_equal(edge, 2);
    assert_int_equal(vertex, 1);
    graph_fini(&graph);
}

static void note_progress(void *context, const char *stage, uint64_t done, uint64_t total)
{
    uint64_t *last = context;
    assert_true(done > *last && done <= total);
    *last = done;
}

static void a_torus_is_as_connected_as_its_degree(void **state)
{
    struct topology torus;
    uint32_t edge, vertex;
    uint64_t last = 0;
    assert_int_equal(topology_build(&torus, "torus:4x5x6", NULL), OK);
    struct observer progress = {note_progress, &last};
    assert_int_equal(connectivity_edge(&torus.graph, progress, &edge, NULL), OK);
    assert_true(last > 0);
    last = 0;
    assert_int_equal(connectivity_vertex(&torus.graph, progress, &vertex, NULL), OK);
    assert_true(last > 0);
    assert_int_equal(edge, 6);
    assert_int_equal(vertex, 6);
    topology_fini(&torus);
}

static void few_nodes_need_no_flow(void **state)
{
    for (uint32_t nodes = 0; nodes <= 2; nodes++) {
        struct graph graph;
        uint32_t edge = 9, vertex = 9;
        assert_int_equal(graph_make(&graph, nodes, NULL, 0, NULL), OK);
        assert_int_equal(connectivity_edge(&graph, silent, &edge, NULL), OK);
        assert_int_equal(connectivity_vertex(&graph, silent, &vertex, NULL), OK);
        assert_int_equal(edge, 0);
        assert_int_equal(vertex, 0);
        graph_fini(&graph);
    }
}

/* Every set of nodes that is connected and has no link out is a component. */
static void components_are_counted(void **state)
{
    struct rng rng = rng_make(7, 0);
    for (int round = 0; round < 100; round++) {
        struct graph graph;
        uint32_t count, expected = 0;
        random_graph(&graph, NODES_MAX, (uint32_t)rng_below(&rng, 14), true, &rng);
        for (uint32_t set = 1; set < 1u << NODES_MAX; set++) {
            bool closed = true;
            for (uint32_t e = 0; e < graph.link_count; e++)
                closed &= (set >> graph.links[e].a & 1) == (set >> graph.links[e].b & 1);
            expected += closed && set_connected(&graph, set);
        }
        assert_int_equal(connectivity_components(&graph, &count, NULL), OK);
        assert_int_equal(count, expected);
        graph_fini(&graph);
    }
}

TEST_MAIN(TEST(both_agree_with_their_definitions), TEST(a_weak_middle_is_found),
          TEST(a_pair_with_many_parallel_cables_is_a_cut),
          TEST(a_torus_is_as_connected_as_its_degree), TEST(few_nodes_need_no_flow),
          TEST(components_are_counted))
