#include "routing/paths/walk_table.h"

#include "routing/paths/paths_test.h"

enum { SEED = 9, GRAPHS = 40, SLACK = 6, LENGTH_MAX = PATHS_TEST_NODES + SLACK };

/* walks[h][v]: the number of walks of h hops from v that end when they first reach the target. */
static void count_by_length(const struct graph *graph, uint32_t target,
                            double walks[LENGTH_MAX + 1][PATHS_TEST_NODES])
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        walks[0][v] = v == target;
    for (uint32_t h = 1; h <= LENGTH_MAX; h++)
        for (uint32_t v = 0; v < graph->node_count; v++) {
            walks[h][v] = 0;
            for (uint32_t slot = graph->first[v]; v != target && slot < graph->first[v + 1]; slot++)
                walks[h][v] += walks[h - 1][graph->to[slot]];
        }
}

/* Hops that lead nearer come first, then those at the same distance, then those that lead away;
 * each hop of the node occurs once. */
static void check_hops(const struct walk_table *table, uint32_t v)
{
    const struct graph *graph = table->graph;
    uint64_t sum = 0, own = 0;
    for (uint32_t hop = graph->first[v]; hop < graph->first[v + 1]; hop++) {
        uint32_t to = table->to[hop],
                 cost = (hop >= table->near_end[v]) + (hop >= table->far_first[v]);
        assert_int_equal(graph_channel_from(graph, table->channel[hop]), v);
        assert_int_equal(graph_channel_to(graph, table->channel[hop]), to);
        assert_int_equal(table->bfs.level[to] + 1, table->bfs.level[v] + cost);
        assert_int_equal(walk_table_left(table, v, hop, SLACK), SLACK - cost);
        sum += table->channel[hop];
        own += graph->channel[hop];
    }
    assert_int_equal(sum, own);
    assert_int_equal(walk_table_end(table, v, 0), table->near_end[v]);
    assert_int_equal(walk_table_end(table, v, 1), table->far_first[v]);
    assert_int_equal(walk_table_end(table, v, 2), graph->first[v + 1]);
}

static void check_target(struct walk_table *table, uint32_t target)
{
    static double walks[LENGTH_MAX + 1][PATHS_TEST_NODES];
    const struct graph *graph = table->graph;
    walk_table_aim(table, target);
    assert_int_equal(walk_table_count(table, SLACK, NULL), OK);
    count_by_length(graph, target, walks);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        uint32_t hops = 0;
        while (hops <= LENGTH_MAX && walks[hops][v] == 0)
            hops++;
        assert_int_equal(table->bfs.level[v], hops <= LENGTH_MAX ? hops : BFS_UNSEEN);
        if (hops > LENGTH_MAX)
            continue;
        check_hops(table, v);
        for (uint32_t slack = 0; slack <= SLACK; slack++) /* whole numbers, all of them small */
            assert_true(table->walks[slack][v] == walks[hops + slack][v]);
    }
}

static void walks_are_counted_by_their_slack(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    print_message("# seed %d\n", SEED);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, 14);
        struct graph graph = paths_test_graph(i % PATHS_KIND_COUNT, nodes, &rng);
        struct walk_table table;
        assert_int_equal(walk_table_init(&table, &graph, NULL), OK);
        for (uint32_t target = 0; target < nodes; target++)
            check_target(&table, target);
        walk_table_fini(&table);
        graph_fini(&graph);
    }
}

static void a_new_target_clears_the_levels(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    struct graph graph = paths_test_graph(PATHS_RING, 6, &rng);
    struct walk_table table;
    assert_int_equal(walk_table_init(&table, &graph, NULL), OK);
    walk_table_aim(&table, 2);
    assert_int_equal(walk_table_count(&table, 1, NULL), OK);
    walk_table_aim(&table, 2);
    assert_int_equal(table.level_count, 2);
    walk_table_aim(&table, 3);
    assert_int_equal(table.level_count, 0);
    walk_table_fini(&table);
    graph_fini(&graph);
}

TEST_MAIN(TEST(walks_are_counted_by_their_slack), TEST(a_new_target_clears_the_levels))
