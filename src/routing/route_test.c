#include "routing/route.h"

#include <math.h>
#include <string.h>

#include "routing/route_cases.h"

static const char *const specs[] = {
    "torus:4x4",    "torus:5x3",    "torus:8",        "torus:2x2x2",  "torus:1x6",
    "torus:3x4x2",  "torus:1",      "novacube:4x4",   "novacube:5x5", "novacube:6x6",
    "novacube:3x5", "novacube:4x6", "novacube:4x4x4", "novacube:2",   "novacube:1x5x2",
};

enum { SPECS = sizeof specs / sizeof *specs };

/* Follows every way from a state to the end; returns the probability of arriving, and asserts every
 * guarantee of moves(). */
static double follow(const struct router *router, uint32_t at, uint32_t to,
                     const struct route_state *state, uint32_t depth)
{
    const struct graph *graph = &router->topology->graph;
    struct route_move moves[2 * AXIS_MAX + 2];
    assert_true(router->move_max <= sizeof moves / sizeof *moves);
    uint32_t count = router->algorithm->moves(router, at, to, state, moves);
    assert_true(count <= router->move_max);
    if (count == 0)
        return at == to;
    assert_true(depth < 100);
    double sum = 0, arrived = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(moves[i].share >= 0 && moves[i].lane < router->lane_count);
        assert_true(moves[i].channel < graph_channel_count(graph));
        assert_int_equal(graph_channel_from(graph, moves[i].channel), at);
        sum += moves[i].share;
        double rest = follow(router, graph_channel_to(graph, moves[i].channel), to, &moves[i].next,
                             depth + 1);
        assert_within(rest, 1, 1e-9); /* also if the share is 0 */
        arrived += moves[i].share * rest;
    }
    assert_within(sum, 1, 1e-12);
    return arrived;
}

static void follow_pair(const struct router *router, uint32_t from, uint32_t to)
{
    uint32_t count = router->algorithm->start_count(router, from, to);
    assert_true(count > 0);
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct route_state start = {0};
        sum += router->algorithm->start(router, from, to, i, &start);
        assert_within(follow(router, from, to, &start, 0), 1, 1e-9);
    }
    assert_within(sum, 1, 1e-9);
}

/* By brute force, without merging equal states. If all nodes look the same, the first represents
 * all: load_test shows that they do. */
static void every_way_of_every_algorithm_arrives(void **state)
{
    for (uint32_t s = 0; s < SPECS; s++) {
        for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
            struct route_case *test = route_case_try(specs[s], (*each)->name);
            if (!test)
                continue;
            uint32_t nodes = test->topology.graph.node_count;
            uint32_t sources = test->router.symmetric ? 1 : nodes;
            for (uint32_t from = 0; from < sources; from++)
                for (uint32_t to = 0; to < nodes; to++)
                    follow_pair(&test->router, from, to);
            route_case_close(test);
        }
    }
}

/* The frequency of each state among many draws, compared with its probability. */
static void draws_follow_the_probabilities_of_starts(void **state)
{
    enum { DRAWS = 20000, STARTS_MAX = 400 };
    struct rng rng = rng_make(3, 1);
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        struct route_case *test = route_case_open("torus:4x5", (*each)->name);
        const struct router *router = &test->router;
        uint32_t count = (*each)->start_count(router, 1, 11);
        struct route_state *starts = array_new(STARTS_MAX, sizeof *starts);
        double expected[STARTS_MAX] = {0}, seen[STARTS_MAX] = {0};
        assert_true(starts && count <= STARTS_MAX);
        uint32_t distinct = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct route_state one = {0};
            double share = (*each)->start(router, 1, 11, i, &one);
            uint32_t k = 0;
            while (k < distinct && memcmp(&starts[k], &one, sizeof one) != 0)
                k++;
            distinct += k == distinct;
            starts[k] = one;
            expected[k] += share;
        }
        for (uint32_t i = 0; (*each)->draw && i < DRAWS; i++) {
            struct route_state one = {0};
            (*each)->draw(router, 1, 11, &rng, &one);
            uint32_t k = 0;
            while (k < distinct && memcmp(&starts[k], &one, sizeof one) != 0)
                k++;
            assert_true(k < distinct);
            seen[k] += 1.0 / DRAWS;
        }
        for (uint32_t k = 0; (*each)->draw && k < distinct; k++)
            if (fabs(seen[k] - expected[k]) > 5 * sqrt(expected[k] / DRAWS))
                fail_msg("%s (seed 3): start %u drawn %g, should be %g", (*each)->name, k, seen[k],
                         expected[k]);
        free(starts);
        route_case_close(test);
    }
}

static void a_walk_returns_its_length_even_if_it_does_not_fit(void **state)
{
    struct route_case *test = route_case_open("torus:8x8", "dor");
    struct rng rng = rng_make(1, 0);
    uint32_t channels[2] = {0, 0}, hops;
    assert_int_equal(route_walk(&test->router, 0, 27, &rng, channels, 1, &hops, NULL), OK);
    assert_int_equal(hops, 6);
    assert_int_equal(channels[1], 0);
    assert_int_equal(graph_channel_from(&test->topology.graph, channels[0]), 0);
    assert_int_equal(route_walk(&test->router, 5, 5, &rng, channels, 2, &hops, NULL), OK);
    assert_int_equal(hops, 0);
    route_case_close(test);
}

static void an_unknown_name_is_refused(void **state)
{
    struct route_case *test = route_case_open("torus:3", "dor");
    struct router router;
    struct why why = {0};
    assert_null(route_find("dorr"));
    assert_int_equal(router_open(&router, "dorr", &test->topology, NULL, &why), ERR_USAGE);
    assert_string_equal(why.text, "there is no routing algorithm 'dorr'");
    route_case_close(test);
}

static void names_are_unique_and_each_finds_its_algorithm(void **state)
{
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        assert_ptr_equal(route_find((*each)->name), *each);
        assert_true(strlen((*each)->summary) > 0);
    }
}

TEST_MAIN(TEST(every_way_of_every_algorithm_arrives),
          TEST(draws_follow_the_probabilities_of_starts),
          TEST(a_walk_returns_its_length_even_if_it_does_not_fit), TEST(an_unknown_name_is_refused),
          TEST(names_are_unique_and_each_finds_its_algorithm))
