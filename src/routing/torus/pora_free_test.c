#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "routing/deadlock/deadlock.h"
#include "routing/load/load.h"
#include "routing/route_cases.h"

/* Hops from one node to all others, by breadth-first search over all cables. */
static void find_distances(const struct graph *graph, uint32_t from, uint32_t *hops)
{
    uint32_t *queue = array_new(graph->node_count, sizeof *queue), count = 0;
    assert_non_null(queue);
    for (uint32_t v = 0; v < graph->node_count; v++)
        hops[v] = UINT32_MAX;
    hops[from] = 0;
    queue[count++] = from;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t i = graph->first[queue[done]]; i < graph->first[queue[done] + 1]; i++) {
            uint32_t next = graph->to[i];
            if (hops[next] != UINT32_MAX)
                continue;
            hops[next] = hops[queue[done]] + 1;
            queue[count++] = next;
        }
    free(queue);
}

/* The mean number of hops beyond the shortest path, over all pairs. */
static double extra_hops(const struct route_case *test)
{
    const struct graph *graph = &test->topology.graph;
    struct load_walk *walk;
    double *channels = array_new(graph_channel_count(graph), sizeof *channels), extra = 0;
    uint32_t *hops = array_new(graph->node_count, sizeof *hops);
    assert_true(channels && hops);
    assert_int_equal(load_walk_open(&walk, &test->router, NULL), OK);
    for (uint32_t from = 0; from < graph->node_count; from++) {
        find_distances(graph, from, hops);
        for (uint32_t to = 0; to < graph->node_count; to++) {
            double taken = 0;
            assert_int_equal(load_add(walk, from, to, 1, channels, &taken, NULL), OK);
            assert_true(taken > hops[to] - 1e-9);
            extra += taken - hops[to];
        }
    }
    load_walk_close(walk);
    free(channels);
    free(hops);
    return extra / graph->node_count / (graph->node_count - 1);
}

static void paths_are_shortest_on_even_axes(void **state)
{
    static const char *const specs[] = {"novacube:4x4",   "novacube:6x6",   "novacube:8x4",
                                        "novacube:4x4x4", "novacube:2x6x4", "novacube:10",
                                        "torus:5x4"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "pora-free");
        assert_true(extra_hops(test) < 1e-9);
        route_case_close(test);
    }
}

/* With an odd axis, paths are at most a little longer; without the steps before a jump they would
 * be longer by three to four times as much. */
static void paths_are_nearly_shortest_on_odd_axes(void **state)
{
    static const struct {
        const char *spec;
        double low, high; /* mean hops beyond the shortest */
    } cases[] = {
        {"novacube:3x3", -1e-9, 1e-9},  {"novacube:3x3x3", -1e-9, 1e-9},
        {"novacube:5x5", 0.01, 0.03},   {"novacube:7x7", 0.01, 0.06},
        {"novacube:5x5x5", 0.01, 0.06}, {"novacube:7x4", 0.001, 0.06},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_case *test = route_case_open(cases[i].spec, "pora-free");
        double extra = extra_hops(test);
        assert_true(extra > cases[i].low && extra < cases[i].high);
        route_case_close(test);
    }
}

/* The proof is for all sizes; this checks many of them. */
static void two_lanes_are_free_of_deadlock(void **state)
{
    static const char *const specs[] = {
        "novacube:4x4", "novacube:5x5",   "novacube:6x6",   "novacube:7x7",   "novacube:8x8",
        "novacube:9x6", "novacube:4x4x4", "novacube:5x4x3", "novacube:6x6x6", "novacube:2x2x2",
        "novacube:11",  "novacube:3x8",   "novacube:12x4",  "novacube:1x6",   "torus:6x5",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "pora-free");
        struct deadlock found;
        assert_int_equal(deadlock_find(&found, &test->router, (struct lane_rule){LANE_OWN, 0},
                                       (struct observer){0}, NULL),
                         OK);
        assert_true(found.free && found.lanes <= 2);
        deadlock_fini(&found);
        assert_int_equal(deadlock_find(&found, &test->router, (struct lane_rule){LANE_FOLDED, 1},
                                       (struct observer){0}, NULL),
                         OK);
        if (i == 2)
            assert_false(found.free); /* one lane is not enough */
        deadlock_fini(&found);
        route_case_close(test);
    }
}

/* The basis of the proof: steps before a jump are on virtual channels that dimension order never
 * takes. */
static void steps_before_a_jump_use_separate_channels(void **state)
{
    static const char *const specs[] = {"novacube:5x5", "novacube:3x4x3", "novacube:7"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "pora-free");
        struct explore explore;
        uint32_t nodes = test->topology.graph.node_count, steps = 0;
        /* per virtual channel, one bit for each phase of the packets that hold it */
        uint8_t *phases = array_new(4 * (size_t)test->topology.graph.link_count, sizeof *phases);
        assert_non_null(phases);
        assert_int_equal(
            explore_open(&explore, &test->router, (struct lane_rule){LANE_OWN, 0}, NULL), OK);
        for (uint32_t to = 0; to < nodes; to++) {
            explore_begin(&explore, to);
            for (uint32_t from = 0; from < nodes; from++)
                for (uint32_t s = 0;
                     s < test->router.algorithm->start_count(&test->router, from, to); s++)
                    assert_int_equal(explore_start(&explore, from, s, 0, NULL), OK);
            for (uint32_t h = 0; h < explore.met.count; h++) {
                bool more;
                assert_int_equal(explore_next(&explore, &more, NULL), OK);
                phases[2 * explore.held.channel + explore.held.lane] |=
                    (uint8_t)(1u << explore.held.state.phase);
                steps += explore.held.state.phase;
            }
        }
        for (uint32_t v = 0; v < 4 * test->topology.graph.link_count; v++)
            assert_true(phases[v] != 3);
        assert_true(steps > 0);
        explore_close(&explore);
        free(phases);
        route_case_close(test);
    }
}

TEST_MAIN(TEST(paths_are_shortest_on_even_axes), TEST(paths_are_nearly_shortest_on_odd_axes),
          TEST(two_lanes_are_free_of_deadlock), TEST(steps_before_a_jump_use_separate_channels))
