#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "routing/deadlock/deadlock.h"
#include "routing/route_cases.h"
#include "routing/torus/pora_impl.h"

static const char *const specs[] = {
    "novacube:4x4",   "novacube:5x5", "novacube:6x6",   "novacube:7x3",   "novacube:8x8",
    "novacube:4x4x4", "novacube:2x9", "novacube:5x4x3", "novacube:3x3x3", "novacube:13",
    "novacube:4x12",  "novacube:3x8", "novacube:2x2x5", "novacube:2x2",
};
enum { SPECS = sizeof specs / sizeof *specs };

static void load_pairs(const struct route_case *test, double *channels)
{
    struct load_walk *walk;
    uint32_t nodes = test->topology.graph.node_count;
    double hops = 0;
    assert_int_equal(load_walk_open(&walk, &test->router, NULL), OK);
    for (uint32_t from = 0; from < nodes; from++)
        for (uint32_t to = 0; to < nodes; to++)
            assert_int_equal(
                load_add(walk, from, to, 1 + 0.1 * from + 0.01 * to, channels, &hops, NULL), OK);
    load_walk_close(walk);
}

/* The same load on every channel for any demands: the same routes. */
static void routes_are_those_of_pora(void **state)
{
    for (int i = 0; i < SPECS; i++) {
        struct route_case *own = route_case_open(specs[i], "pora-raised");
        struct route_case *pora = route_case_open(specs[i], "pora");
        size_t channels = graph_channel_count(&own->topology.graph);
        double *one = array_new(channels, sizeof *one), *other = array_new(channels, sizeof *other);
        assert_non_null(one);
        assert_non_null(other);
        load_pairs(own, one);
        load_pairs(pora, other);
        for (size_t c = 0; c < channels; c++)
            assert_true(one[c] == other[c]);
        free(one);
        free(other);
        route_case_close(own);
        route_case_close(pora);
    }
}

static struct deadlock find(const char *spec, const char *algorithm)
{
    struct route_case *test = route_case_open(spec, algorithm);
    struct deadlock found;
    assert_int_equal(deadlock_find(&found, &test->router, (struct lane_rule){LANE_OWN, 0},
                                   (struct observer){0}, NULL),
                     OK);
    route_case_close(test);
    return found;
}

/* Three lanes are free of deadlock where PORA's two are not. */
static void three_lanes_are_free_of_deadlock(void **state)
{
    for (int i = 0; i < SPECS; i++) {
        struct deadlock raised = find(specs[i], "pora-raised"), pora = find(specs[i], "pora");
        assert_true(raised.free && raised.wormhole);
        assert_true(raised.lanes <= 3);
        if (strcmp(specs[i], "novacube:2x2") != 0) { /* there two lanes are enough */
            assert_false(pora.free);
            assert_true(pora.at_once);
        }
        deadlock_fini(&raised);
        deadlock_fini(&pora);
    }
}

/* The basis of the proof: a jump from within the box leads to the destination. */
static void jumps_from_the_box_are_the_last_hop(void **state)
{
    uint32_t jumps = 0;
    for (int i = 0; i < SPECS; i++) {
        struct route_case *test = route_case_open(specs[i], "pora-raised");
        struct explore explore;
        uint32_t nodes = test->topology.graph.node_count;
        assert_int_equal(
            explore_open(&explore, &test->router, (struct lane_rule){LANE_OWN, 0}, NULL), OK);
        for (uint32_t to = 0; to < nodes; to++) {
            explore_begin(&explore, to);
            for (uint32_t from = 0; from < nodes; from++)
                if (from != to)
                    assert_int_equal(explore_start(&explore, from, 0, 0, NULL), OK);
            for (bool more = true; more;) {
                assert_int_equal(explore_next(&explore, &more, NULL), OK);
                if (!more || explore.held.state.phase != PORA_IN_BOX)
                    continue;
                const struct graph *graph = &test->topology.graph;
                for (uint32_t m = 0; m < explore.move_count; m++) {
                    uint32_t channel = explore.moves[m].channel;
                    if (graph_channel_port(graph, channel) != 2 * test->topology.axis_count)
                        continue;
                    jumps++;
                    assert_int_equal(graph_channel_to(graph, channel), to);
                }
            }
        }
        explore_close(&explore);
        route_case_close(test);
    }
    assert_true(jumps > 100);
}

TEST_MAIN(TEST(routes_are_those_of_pora), TEST(three_lanes_are_free_of_deadlock),
          TEST(jumps_from_the_box_are_the_last_hop))
