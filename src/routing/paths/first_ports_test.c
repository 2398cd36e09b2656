#include "routing/paths/first_ports.h"

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "routing/paths/paths_test.h"
#include "routing/paths/walk_table.h"

#define SEED 74

/* A link is in the set exactly if its other end is one hop nearer. */
static void against_distances(const struct graph *graph)
{
    struct first_ports *ports = array_new(graph->node_count, sizeof *ports);
    struct walk_table table;
    assert_non_null(ports);
    assert_int_equal(walk_table_init(&table, graph, NULL), OK);
    for (uint32_t v = 0; v < graph->node_count; v++)
        assert_int_equal(first_ports_find(&ports[v], graph, v, NULL), OK);
    for (uint32_t to = 0; to < graph->node_count; to++) {
        walk_table_aim(&table, to);
        for (uint32_t v = 0; v < graph->node_count; v++) {
            const uint64_t *set = first_ports_set(&ports[v], to);
            for (uint32_t i = 0; i < 64 * ports[v].word_count; i++) {
                bool in_set = bitset_has(set, i), nearer = false;
                if (i < graph_degree(graph, v) && table.bfs.level[v] != BFS_UNSEEN)
                    nearer = table.bfs.level[graph->to[graph->first[v] + i]] < table.bfs.level[v];
                assert_int_equal(in_set, nearer);
            }
        }
    }
    for (uint32_t v = 0; v < graph->node_count; v++)
        first_ports_fini(&ports[v]);
    walk_table_fini(&table);
    free(ports);
}

static void random_graphs_agree_with_distances(void **state)
{
    print_message("# seed %d\n", SEED);
    struct rng rng = rng_make(SEED, 0);
    for (int round = 0; round < 200; round++) {
        struct graph graph =
            paths_test_graph((enum paths_test_kind)(round % PATHS_KIND_COUNT),
                             2 + (uint32_t)rng_below(&rng, PATHS_TEST_NODES - 1), &rng);
        against_distances(&graph);
        graph_fini(&graph);
    }
}

/* More links than a word has bits: two hubs that share 150 neighbours. */
static void a_set_may_take_several_words(void **state)
{
    struct link links[300];
    for (uint32_t i = 0; i < 150; i++) {
        links[2 * i] = (struct link){0, 2 + i, PORT_ANY, PORT_ANY};
        links[2 * i + 1] = (struct link){2 + i, 1, PORT_ANY, PORT_ANY};
    }
    struct graph graph;
    assert_int_equal(graph_make(&graph, 152, links, 300, NULL), OK);
    struct first_ports ports;
    assert_int_equal(first_ports_find(&ports, &graph, 0, NULL), OK);
    assert_int_equal(ports.word_count, 3);
    assert_true(first_ports_set(&ports, 1)[2] == (UINT64_C(1) << 22) - 1); /* all 150 */
    first_ports_fini(&ports);
    against_distances(&graph);
    graph_fini(&graph);
}

TEST_MAIN(TEST(random_graphs_agree_with_distances), TEST(a_set_may_take_several_words))
