#include "topology/generate/torus.h"

#include "topology/generate/reach_test.h"

static uint32_t port_to(const struct topology *topology, uint32_t node, uint32_t port)
{
    const struct graph *graph = &topology->graph;
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++)
        if (graph_channel_port(graph, graph->channel[slot]) == port)
            return graph->to[slot];
    return NODE_NONE;
}

static void ports_lead_up_and_down_every_axis(void **state)
{
    struct topology torus = reach_build("torus:3x4x5");
    uint32_t at[3], next[3];
    for (uint32_t node = 0; node < 60; node++) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            topology_coordinate(&torus, node, at);
            topology_coordinate(&torus, node, next);
            next[axis] = (at[axis] + 1) % torus.axis_size[axis];
            assert_int_equal(port_to(&torus, node, 2 * axis), topology_node_at(&torus, next));
            next[axis] = (at[axis] + torus.axis_size[axis] - 1) % torus.axis_size[axis];
            assert_int_equal(port_to(&torus, node, 2 * axis + 1), topology_node_at(&torus, next));
        }
    }
    assert_int_equal(torus.graph.link_count, 180);
    assert_true(torus.direct);
    topology_fini(&torus);
}

static void an_axis_of_two_has_one_cable(void **state)
{
    struct topology cube = reach_build("torus:2x2x2");
    assert_int_equal(cube.graph.link_count, 12);
    for (uint32_t a = 0; a < 8; a++)
        for (uint32_t b = 0; b < 8; b++) /* Q3: neighbours differ in one bit */
            assert_int_equal(a != b && graph_adjacent(&cube.graph, a, b),
                             __builtin_popcount(a ^ b) == 1);
    assert_int_equal(port_to(&cube, 0, 0), 1);
    assert_int_equal(port_to(&cube, 1, 1), 0);
    assert_int_equal(port_to(&cube, 1, 0), NODE_NONE);
    topology_fini(&cube);
}

static void an_axis_of_one_has_no_cable(void **state)
{
    struct topology one = reach_build("torus:1"), two = reach_build("torus:2"),
                    ring = reach_build("torus:1x5");
    assert_int_equal(one.graph.node_count, 1);
    assert_int_equal(one.graph.link_count, 0);
    assert_int_equal(two.graph.link_count, 1);
    assert_int_equal(ring.graph.link_count, 5);
    assert_int_equal(port_to(&ring, 4, 2), 0); /* the ports of axis 1 */
    assert_int_equal(port_to(&ring, 0, 3), 4);
    topology_fini(&one);
    topology_fini(&two);
    topology_fini(&ring);
}

/* Degree and link count of every small torus, computed separately. */
static void every_small_torus_has_its_degrees(void **state)
{
    for (uint32_t x = 1; x <= 5; x++) {
        for (uint32_t y = 1; y <= 5; y++) {
            char spec[32];
            snprintf(spec, sizeof spec, "torus:%ux%u", x, y);
            struct topology torus = reach_build(spec);
            struct reach reach = reach_measure(&torus.graph, x * y);
            uint32_t degree = (x < 3 ? x - 1 : 2) + (y < 3 ? y - 1 : 2);
            assert_int_equal(reach.degree_min, degree);
            assert_int_equal(reach.degree_max, degree);
            assert_int_equal(reach.diameter, x / 2 + y / 2);
            assert_true(reach.simple);
            assert_true(reach_whole(&reach, &torus.graph));
            assert_string_equal(torus.spec, spec);
            topology_fini(&torus);
        }
    }
}

static void too_many_links_are_refused_before_memory_is_allocated(void **state)
{
    struct topology torus;
    struct why why;
    assert_int_equal(topology_build(&torus, "torus:100x100x100x100", &why), ERR_USAGE);
    assert_string_equal(why.text,
                        "torus:100x100x100x100: there are more than 200000000 links, the maximum");
    assert_int_equal(topology_build(&torus, "novacube:100x100x100x100", &why), ERR_USAGE);
}

TEST_MAIN(TEST(ports_lead_up_and_down_every_axis), TEST(an_axis_of_two_has_one_cable),
          TEST(an_axis_of_one_has_no_cable), TEST(every_small_torus_has_its_degrees),
          TEST(too_many_links_are_refused_before_memory_is_allocated))
