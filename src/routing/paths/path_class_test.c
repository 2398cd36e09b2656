#include "routing/paths/path_class.h"

#include "base/rng.h"
#include "base/test.h"
#include "routing/paths/paths_test.h"
#include "routing/paths/walk_table.h"
#include "topology/topology.h"

#define SEED 72

static void all_paths_of_each_length_are_listed(void **state)
{
    print_message("# seed %d\n", SEED);
    struct rng rng = rng_make(SEED, 0);
    for (int round = 0; round < 200; round++) {
        struct graph graph = paths_test_graph((enum paths_test_kind)(round % PATHS_KIND_COUNT),
                                              2 + (uint32_t)rng_below(&rng, 9), &rng);
        struct walk_table table;
        struct path_class class;
        uint64_t counts[PATHS_TEST_NODES];
        assert_int_equal(walk_table_init(&table, &graph, NULL), OK);
        assert_int_equal(path_class_init(&class, &graph, NULL), OK);
        for (uint32_t from = 1; from < graph.node_count; from++) {
            walk_table_aim(&table, 0);
            paths_test_count(&graph, from, 0, counts);
            if (table.bfs.level[from] == BFS_UNSEEN)
                continue;
            for (uint32_t hops = table.bfs.level[from]; hops < table.bfs.count; hops++) {
                uint32_t slack = hops - table.bfs.level[from];
                bool complete = false;
                assert_int_equal(walk_table_count(&table, slack, NULL), OK);
                assert_true(table.walks[slack][from] >= (double)counts[hops]);
                assert_int_equal(path_class_list(&class, &table, from, slack, SIZE_MAX, UINT64_MAX,
                                                 &complete, NULL),
                                 OK);
                assert_true(complete);
                assert_int_equal(class.count, counts[hops]);
            }
        }
        path_class_fini(&class);
        walk_table_fini(&table);
        graph_fini(&graph);
    }
}

static void a_limit_is_kept_and_does_not_affect_later_lists(void **state)
{
    struct topology torus;
    struct walk_table table;
    struct path_class class;
    bool complete = true;
    assert_int_equal(topology_build(&torus, "torus:8x8", NULL), OK);
    assert_int_equal(walk_table_init(&table, &torus.graph, NULL), OK);
    assert_int_equal(path_class_init(&class, &torus.graph, NULL), OK);
    walk_table_aim(&table, 27); /* (3,3): 20 shortest paths from 0 */
    assert_int_equal(walk_table_count(&table, 2, NULL), OK);
    assert_int_equal(path_class_list(&class, &table, 0, 0, 19, 1000000, &complete, NULL), OK);
    assert_false(complete);
    assert_int_equal(path_class_list(&class, &table, 0, 0, 20, 10, &complete, NULL), OK);
    assert_false(complete);
    assert_int_equal(path_class_list(&class, &table, 0, 0, 20, 1000000, &complete, NULL), OK);
    assert_true(complete);
    assert_int_equal(class.count, 20);
    path_class_fini(&class);
    walk_table_fini(&table);
    topology_fini(&torus);
}

/* Draws `wanted` of the n paths of a class many times: each path must occur equally often.
 * Chi-square of n - 1 degrees of freedom. */
static void drawn_equally_often(const char *spec, uint32_t from, uint32_t to, uint32_t slack,
                                size_t wanted)
{
    enum { ROUNDS = 4000, CLASS_MAX = 400 };
    struct topology topology;
    struct walk_table table;
    struct path_class all, drawn;
    struct rng rng = rng_make(SEED, 1);
    uint32_t seen[CLASS_MAX] = {0};
    bool complete = false;
    assert_int_equal(topology_build(&topology, spec, NULL), OK);
    assert_int_equal(walk_table_init(&table, &topology.graph, NULL), OK);
    assert_int_equal(path_class_init(&all, &topology.graph, NULL), OK);
    assert_int_equal(path_class_init(&drawn, &topology.graph, NULL), OK);
    walk_table_aim(&table, to);
    assert_int_equal(walk_table_count(&table, slack, NULL), OK);
    assert_int_equal(
        path_class_list(&all, &table, from, slack, CLASS_MAX, UINT64_MAX, &complete, NULL), OK);
    assert_true(complete && all.count > wanted + 1);
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(path_class_draw(&drawn, &table, from, slack, wanted, 10000, 10000, &rng,
                                         &complete, NULL),
                         OK);
        assert_true(complete && drawn.count == wanted);
        for (size_t i = 0; i < wanted; i++) {
            size_t index = 0;
            while (memcmp(path_class_path(&drawn, i), path_class_path(&all, index),
                          all.hops * sizeof *all.channels) != 0)
                assert_true(++index < all.count);
            seen[index]++;
        }
    }
    double expected = (double)ROUNDS * (double)wanted / (double)all.count, chi = 0;
    for (size_t i = 0; i < all.count; i++)
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    /* mean n - 1, variance 2(n - 1): five deviations away */
    double freedom = (double)all.count - 1;
    assert_true((chi - freedom) * (chi - freedom) < 25 * 2 * freedom);
    path_class_fini(&all);
    path_class_fini(&drawn);
    walk_table_fini(&table);
    topology_fini(&topology);
}

static void draws_are_uniform(void **state)
{
    drawn_equally_often("torus:8x8", 0, 27, 0, 1);
    drawn_equally_often("torus:8x8", 0, 27, 0, 6);
    drawn_equally_often("torus:8x8", 0, 10, 2, 3); /* includes walks that visit a node twice */
    drawn_equally_often("degree-diameter:10,3,2", 0, 7, 3, 2);
}

static void a_draw_gives_up_if_there_are_too_few_paths(void **state)
{
    struct topology ring;
    struct walk_table table;
    struct path_class class;
    struct rng rng = rng_make(SEED, 2);
    bool complete = true;
    assert_int_equal(topology_build(&ring, "torus:8", NULL), OK);
    assert_int_equal(walk_table_init(&table, &ring.graph, NULL), OK);
    assert_int_equal(path_class_init(&class, &ring.graph, NULL), OK);
    walk_table_aim(&table, 4);
    assert_int_equal(walk_table_count(&table, 0, NULL), OK);
    assert_int_equal(path_class_draw(&class, &table, 0, 0, 3, 1000, 1000, &rng, &complete, NULL),
                     OK);
    assert_false(complete);
    assert_int_equal(path_class_draw(&class, &table, 0, 0, 2, 1000, 1000, &rng, &complete, NULL),
                     OK);
    assert_true(complete);
    /* one hop away, all walks of slack 2 turn back: no path is ever drawn */
    assert_int_equal(walk_table_count(&table, 2, NULL), OK);
    assert_int_equal(path_class_draw(&class, &table, 3, 2, 1, 5, UINT64_MAX, &rng, &complete, NULL),
                     OK);
    assert_false(complete);
    path_class_fini(&class);
    walk_table_fini(&table);
    topology_fini(&ring);
}

TEST_MAIN(TEST(all_paths_of_each_length_are_listed),
          TEST(a_limit_is_kept_and_does_not_affect_later_lists), TEST(draws_are_uniform),
          TEST(a_draw_gives_up_if_there_are_too_few_paths))
