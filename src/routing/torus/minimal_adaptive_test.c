#include "routing/route.h"

#include <string.h>

#include "routing/route_cases.h"
#include "topology/measure/closed_form.h"
#include "topology/measure/shortest_paths.h"

static void every_way_is_a_shortest_path(void **state)
{
    static const struct {
        const char *spec;
        bool nova;
        uint32_t k, n;
    } cases[] = {{"torus:4x4", false, 4, 2},     {"torus:5x5", false, 5, 2},
                 {"novacube:8x8", true, 8, 2},   {"novacube:7x7", true, 7, 2},
                 {"novacube:4x4x4", true, 4, 3}, {"novacube:5x5x5", true, 5, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_case *test = route_case_open(cases[i].spec, "minimal-adaptive");
        struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
        struct load load = route_case_load(&test->router, &uniform);
        struct closed_form form;
        if (cases[i].nova)
            assert_int_equal(closed_form_novacube(cases[i].k, cases[i].n, &form, NULL), OK);
        else
            assert_int_equal(closed_form_torus(cases[i].k, cases[i].n, &form, NULL), OK);
        assert_within(load.mean_path, form.mean_path, 1e-9);
        load_fini(&load);
        traffic_fini(&uniform);
        route_case_close(test);
    }
}

/* The number of ways from `at` on lane 2. */
static double count_ways(const struct router *router, uint32_t at, uint32_t to)
{
    struct route_move moves[8];
    const struct route_state free = {0};
    uint32_t count = router->algorithm->moves(router, at, to, &free, moves);
    double ways = count == 0;
    for (uint32_t i = 0; i < count; i++)
        if (moves[i].lane == 2)
            ways += count_ways(router, graph_channel_to(&router->topology->graph, moves[i].channel),
                               to);
    return ways;
}

static void a_packet_may_take_every_shortest_path(void **state)
{
    static const char *const specs[] = {"torus:4x5", "novacube:6x4", "novacube:5x3", "novacube:2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "minimal-adaptive");
        for (uint32_t from = 0; from < test->topology.graph.node_count; from++) {
            for (uint32_t to = 0; to < test->topology.graph.node_count; to++) {
                struct shortest_paths paths;
                assert_int_equal(
                    shortest_paths_count(&paths, &test->topology.graph, from, to, NULL), OK);
                assert_within(count_ways(&test->router, from, to), (double)paths.count, 0);
            }
        }
        route_case_close(test);
    }
}

/* Every state on lane 2 has an escape on lanes 0 and 1, which leads to the destination on these
 * lanes only. */
static void there_is_always_an_escape(void **state)
{
    struct route_case *test = route_case_open("novacube:4x5", "minimal-adaptive");
    const struct graph *graph = &test->topology.graph;
    assert_int_equal(test->router.escape_lanes, 2);
    for (uint32_t from = 0; from < graph->node_count; from++) {
        for (uint32_t to = 0; to < graph->node_count; to++) {
            struct route_state now = {0};
            uint32_t at = from, hops = 0, count;
            struct route_move moves[8];
            while ((count = test->router.algorithm->moves(&test->router, at, to, &now, moves))) {
                assert_true(moves[0].lane < 2 && hops++ < 10);
                assert_true(hops == 1 ? moves[0].share == 0 : count == 1);
                at = graph_channel_to(graph, moves[0].channel);
                now = moves[0].next;
            }
            assert_int_equal(at, to);
        }
    }
    route_case_close(test);
}

static void a_table_that_would_be_too_large_is_refused(void **state)
{
    struct topology topology;
    struct router router;
    struct why why = {0};
    assert_int_equal(topology_build(&topology, "novacube:21x21x21", NULL), OK);
    assert_int_equal(router_open(&router, "minimal-adaptive", &topology, NULL, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "8192 nodes"));
    topology_fini(&topology);
}

TEST_MAIN(TEST(every_way_is_a_shortest_path), TEST(a_packet_may_take_every_shortest_path),
          TEST(there_is_always_an_escape), TEST(a_table_that_would_be_too_large_is_refused))
