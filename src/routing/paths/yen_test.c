#include "routing/paths/yen.h"

#include "base/rng.h"
#include "base/test.h"
#include "routing/paths/paths_test.h"

#define SEED 71

/* Checks that the lengths are those of the first k of all paths, in order. */
static void against_all(const struct graph *graph, struct yen *yen, uint32_t from, uint32_t to,
                        uint32_t k, uint32_t hop_max, struct rng *rng)
{
    uint64_t counts[PATHS_TEST_NODES];
    struct path_set set = {0};
    paths_test_count(graph, from, to, counts);
    assert_int_equal(path_set_pair(&set, NULL), OK);
    assert_int_equal(yen_find(yen, from, to, k, hop_max, rng, &set, NULL), OK);
    size_t path = 0;
    for (uint32_t hops = 1; hops < PATHS_TEST_NODES && hops <= hop_max; hops++)
        for (uint64_t i = 0; i < counts[hops] && path < k; i++, path++) {
            assert_true(path < set.path_count);
            assert_int_equal(path_set_hops(&set, path), hops);
        }
    assert_int_equal(set.path_count, path);
    paths_test_check(graph, &set, 0, from, to);
    path_set_fini(&set);
}

static void small_graphs_agree_with_enumeration(void **state)
{
    print_message("# seed %d\n", SEED);
    struct rng rng = rng_make(SEED, 0);
    for (int round = 0; round < 400; round++) {
        struct graph graph = paths_test_graph((enum paths_test_kind)(round % PATHS_KIND_COUNT),
                                              2 + (uint32_t)rng_below(&rng, 9), &rng);
        struct yen *yen;
        assert_int_equal(yen_open(&yen, &graph, NULL), OK);
        for (int i = 0; i < 10; i++) {
            uint32_t from = (uint32_t)rng_below(&rng, graph.node_count);
            uint32_t to =
                (from + 1 + (uint32_t)rng_below(&rng, graph.node_count - 1)) % graph.node_count;
            uint32_t hop_max = i % 4 ? UINT32_MAX : (uint32_t)rng_below(&rng, 6);
            against_all(&graph, yen, from, to, (uint32_t)rng_below(&rng, 40), hop_max, &rng);
        }
        yen_close(yen);
        graph_fini(&graph);
    }
}

/* Both ways round a ring are equally long: each seed prefers one. */
static void ties_between_equal_paths_are_broken_by_the_draws(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    struct graph ring = paths_test_graph(PATHS_RING, 8, &rng);
    struct yen *yen;
    int by_first = 0;
    assert_int_equal(yen_open(&yen, &ring, NULL), OK);
    for (int i = 0; i < 200; i++) {
        struct path_set set = {0};
        assert_int_equal(path_set_pair(&set, NULL), OK);
        assert_int_equal(yen_find(yen, 0, 4, 1, UINT32_MAX, &rng, &set, NULL), OK);
        by_first += graph_channel_to(&ring, set.channels[0]) == 1;
        path_set_fini(&set);
    }
    assert_in_range(by_first, 70, 130);
    yen_close(yen);
    graph_fini(&ring);
}

TEST_MAIN(TEST(small_graphs_agree_with_enumeration),
          TEST(ties_between_equal_paths_are_broken_by_the_draws))
