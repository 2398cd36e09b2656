#include "routing/paths/ways.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "routing/load/load.h"
#include "routing/route_cases.h"

#define SEED 77

/* Checks that the ways together put the load on the channels. */
static void against_load(const struct router *router, const struct ways *ways, uint32_t from,
                         uint32_t to)
{
    const struct graph *graph = &router->topology->graph;
    size_t size = graph_channel_count(graph);
    double *left = array_new(size, sizeof *left), hops = 0, sum = 0;
    struct load_walk *walk;
    assert_non_null(left);
    assert_int_equal(load_walk_open(&walk, router, NULL), OK);
    assert_int_equal(load_add(walk, from, to, 1, left, &hops, NULL), OK);
    for (size_t way = 0; way < ways->paths.path_count; way++) {
        uint32_t at = from;
        sum += ways->shares[way];
        for (size_t hop = ways->paths.path_first[way]; hop < ways->paths.path_first[way + 1];
             hop++) {
            assert_int_equal(graph_channel_from(graph, ways->paths.channels[hop]), at);
            at = graph_channel_to(graph, ways->paths.channels[hop]);
            left[ways->paths.channels[hop]] -= ways->shares[way];
        }
        assert_int_equal(at, to);
    }
    assert_within(sum, 1, 1e-9);
    for (size_t channel = 0; channel < size; channel++)
        assert_within(left[channel], 0, 1e-9);
    load_walk_close(walk);
    free(left);
}

static void check_distinct_and_sorted(const struct ways *ways)
{
    for (size_t i = 1; i < ways->paths.path_count; i++)
        assert_true(ways->shares[ways->order[i]] <= ways->shares[ways->order[i - 1]] + 1e-8);
    assert_int_equal(ways->known.count, ways->paths.path_count);
}

static void all_ways_together_are_the_load(void **state)
{
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        struct route_case *test = route_case_try("novacube:4x4", (*each)->name);
        if (!test)
            continue;
        for (uint32_t to = 0; to < 16; to++) {
            struct ways ways;
            assert_int_equal(ways_list(&ways, &test->router, 3, to, NULL), OK);
            against_load(&test->router, &ways, 3, to);
            check_distinct_and_sorted(&ways);
            ways_fini(&ways);
        }
        route_case_close(test);
    }
}

/* (1,1) on a torus: over either corner, half the packets each. */
static void shares_are_probabilities(void **state)
{
    struct route_case *test = route_case_open("torus:5x5", "link-state");
    struct ways ways;
    assert_int_equal(ways_list(&ways, &test->router, 0, 6, NULL), OK);
    assert_int_equal(ways.paths.path_count, 2);
    assert_within(ways.shares[0], 0.5, 1e-12);
    assert_within(ways.shares[1], 0.5, 1e-12);
    ways_fini(&ways);
    assert_int_equal(ways_list(&ways, &test->router, 6, 6, NULL), OK);
    assert_int_equal(ways.paths.path_count, 1);
    assert_int_equal(ways.paths.hop_count, 0);
    ways_fini(&ways);
    route_case_close(test);
}

static void draws_follow_the_probabilities(void **state)
{
    print_message("# seed %d\n", SEED);
    struct route_case *test = route_case_open("jellyfish:n=20,degree=4,seed=1", "link-state");
    struct rng rng = rng_make(SEED, 0);
    for (uint32_t to = 1; to < 20; to++) {
        struct ways all, drawn;
        assert_int_equal(ways_list(&all, &test->router, 0, to, NULL), OK);
        assert_int_equal(ways_draw(&drawn, &test->router, 0, to, 2000, &rng, NULL), OK);
        double sum = 0;
        for (size_t way = 0; way < drawn.paths.path_count; way++) {
            const struct path_set *set = &drawn.paths;
            uint32_t number = name_index_find(&all.known, (const char *)path_set_channels(set, way),
                                              path_set_hops(set, way) * sizeof *set->channels);
            assert_true(number != NAME_NONE);
            double expected = 2000 * all.shares[number];
            double off = drawn.shares[way] - expected;
            assert_true(off * off <= 25 * expected); /* five deviations */
            sum += drawn.shares[way];
        }
        assert_within(sum, 2000, 0);
        ways_fini(&all);
        ways_fini(&drawn);
    }
    route_case_close(test);
}

/* 48620 shortest paths, then 184756. */
static void too_many_ways_are_refused(void **state)
{
    struct route_case *test = route_case_open("torus:25x25", "link-state");
    struct ways ways;
    struct why why = {{0}};
    uint32_t near = topology_node_at(&test->topology, (uint32_t[]){9, 9});
    uint32_t far = topology_node_at(&test->topology, (uint32_t[]){10, 10});
    assert_int_equal(ways_list(&ways, &test->router, 0, near, NULL), OK);
    assert_int_equal(ways.paths.path_count, 48620);
    ways_fini(&ways);
    assert_int_equal(ways_list(&ways, &test->router, 0, far, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "more than 100000 paths"));
    route_case_close(test);
}

TEST_MAIN(TEST(all_ways_together_are_the_load), TEST(shares_are_probabilities),
          TEST(draws_follow_the_probabilities), TEST(too_many_ways_are_refused))
