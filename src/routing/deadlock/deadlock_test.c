#include "routing/deadlock/deadlock.h"

#include <string.h>

#include "base/test.h"
#include "routing/deadlock/ring_test.h"

enum { RING = 5 };

struct fixture {
    struct topology topology;
    struct router router;
};

static void open_ring(struct fixture *fixture, uint32_t lanes)
{
    assert_int_equal(topology_build(&fixture->topology, "torus:5", NULL), OK);
    fixture->router = ring_router(&fixture->topology, lanes);
}

static struct deadlock find(const struct fixture *fixture, struct lane_rule rule)
{
    struct deadlock found;
    assert_int_equal(deadlock_find(&found, &fixture->router, rule, (struct observer){0}, NULL), OK);
    return found;
}

/* Round the ring in one lane: each channel waits for the next, and the shortest cycle is the whole
 * ring. A packet holds the channel that leaves its source. */
static void one_lane_round_a_ring_has_a_cycle(void **state)
{
    struct fixture fixture;
    open_ring(&fixture, 1);
    struct deadlock found = find(&fixture, (struct lane_rule){LANE_OWN, 0});
    assert_false(found.free);
    assert_true(found.at_once);
    assert_int_equal(found.lanes, 1);
    assert_int_equal(found.channels, RING);
    assert_int_equal(found.stuck, RING);
    assert_int_equal(found.dependencies, RING);
    assert_int_equal(found.states, RING * (RING - 1));
    assert_int_equal(found.cycle_length, RING);
    for (uint32_t i = 0; i < RING; i++) {
        const struct deadlock_step *step = &found.cycle[i], *next = &found.cycle[(i + 1) % RING];
        const struct graph *graph = &fixture.topology.graph;
        assert_int_equal(graph_channel_to(graph, step->held.channel),
                         graph_channel_from(graph, next->held.channel));
        assert_int_equal(graph_channel_from(graph, step->held.channel), step->packet.from);
        assert_int_equal(step->packet.hops, 1);
        assert_true(graph_channel_to(graph, step->held.channel) != step->packet.to);
    }
    deadlock_fini(&found);
    topology_fini(&fixture.topology);
}

/* Lane 0 from channel 0 to the last but one; lane 1 on the last channel and beyond, up to RING - 1
 * hops in total. */
static void two_lanes_are_free_of_deadlock(void **state)
{
    struct fixture fixture;
    open_ring(&fixture, 2);
    struct deadlock found = find(&fixture, (struct lane_rule){LANE_OWN, 0});
    assert_true(found.free);
    assert_null(found.cycle);
    assert_int_equal(found.lanes, 2);
    /* lane 0 on channels 0 to RING - 2; lane 1 on the last, and on 0 to RING - 3 after it */
    assert_int_equal(found.channels, 2 * RING - 2);
    assert_int_equal(found.stuck, 0);
    deadlock_fini(&found);
    found = find(&fixture, (struct lane_rule){LANE_FOLDED, 1});
    assert_false(found.free);
    assert_int_equal(found.cycle_length, RING);
    deadlock_fini(&found);
    found = find(&fixture, (struct lane_rule){LANE_FOLDED, 2});
    assert_true(found.free);
    deadlock_fini(&found);
    topology_fini(&fixture.topology);
}

static void lanes_by_hops_are_free_of_deadlock(void **state)
{
    struct fixture fixture;
    open_ring(&fixture, 1);
    struct deadlock found = find(&fixture, (struct lane_rule){LANE_HOPS, 0});
    assert_true(found.free);
    assert_int_equal(found.lanes, RING - 1);
    assert_int_equal(found.dependencies, RING * (RING - 2));
    deadlock_fini(&found);
    topology_fini(&fixture.topology);
}

/* All lanes together have cycles, yet each packet can always take a lane that drains; without the
 * change of lane at the end it cannot. */
static void adaptive_routing_needs_one_alternative_that_drains(void **state)
{
    struct fixture fixture;
    open_ring(&fixture, 3);
    struct deadlock found = find(&fixture, (struct lane_rule){LANE_OWN, 0});
    assert_true(found.free);
    assert_false(found.wormhole); /* a packet may leave its escape lanes */
    assert_int_equal(found.lanes, 3);
    deadlock_fini(&found);
    fixture.router.escape_lanes = 2;
    found = find(&fixture, (struct lane_rule){LANE_OWN, 0});
    assert_true(found.free && found.wormhole);
    deadlock_fini(&found);
    fixture.router.escape_lanes = 1; /* a false claim */
    found = find(&fixture, (struct lane_rule){LANE_OWN, 0});
    assert_true(found.free && !found.wormhole);
    deadlock_fini(&found);
    found = find(&fixture, (struct lane_rule){LANE_FOLDED, 1});
    assert_false(found.free);
    assert_int_equal(found.cycle_length, RING);
    deadlock_fini(&found);
    topology_fini(&fixture.topology);
}

TEST_MAIN(TEST(one_lane_round_a_ring_has_a_cycle), TEST(two_lanes_are_free_of_deadlock),
          TEST(lanes_by_hops_are_free_of_deadlock),
          TEST(adaptive_routing_needs_one_alternative_that_drains))
