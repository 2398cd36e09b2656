#include "routing/torus/compass.h"

#include <string.h>

#include "routing/route_cases.h"
#include "topology/build_test.h"
#include "topology/generate/novacube.h"

static void channels_lead_where_they_should(void **state)
{
    static const char *const specs[] = {"torus:4x5", "torus:2x3x1", "novacube:4x6", "novacube:5x4",
                                        "novacube:2x2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology = build_test(specs[i]);
        const struct graph *graph = &topology.graph;
        struct compass compass;
        assert_int_equal(compass_init(&compass, &topology, "test", NULL), OK);
        for (uint32_t node = 0; node < graph->node_count; node++) {
            for (uint32_t axis = 0; axis < topology.axis_count; axis++) {
                for (uint32_t down = 0; down < 2; down++) {
                    uint32_t channel = compass_channel(&compass, node, axis, down);
                    assert_int_equal(channel == CHANNEL_NONE, topology.axis_size[axis] == 1);
                    if (channel == CHANNEL_NONE)
                        continue;
                    uint32_t at[AXIS_MAX], size = topology.axis_size[axis];
                    topology_coordinate(&topology, node, at);
                    at[axis] = (at[axis] + (down ? size - 1 : 1)) % size;
                    assert_int_equal(graph_channel_from(graph, channel), node);
                    assert_int_equal(graph_channel_to(graph, channel),
                                     topology_node_at(&topology, at));
                    assert_int_equal(compass_step(&compass, node, axis, down, 1),
                                     topology_node_at(&topology, at));
                }
            }
            uint32_t jump = compass_jump_channel(&compass, node);
            uint32_t to = compass.jumps
                              ? novacube_jump(topology.axis_size, topology.axis_count, node)
                              : NODE_NONE;
            assert_int_equal(jump == CHANNEL_NONE ? NODE_NONE : graph_channel_to(graph, jump), to);
        }
        compass_fini(&compass);
        topology_fini(&topology);
    }
}

static void only_networks_without_odd_jumps_are_symmetric(void **state)
{
    static const struct {
        const char *spec;
        bool symmetric;
    } cases[] = {{"torus:3x5", true},    {"novacube:4x6", true}, {"novacube:4x5", false},
                 {"novacube:1x4", true}, {"novacube:2", true},   {"novacube:3x3", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology = build_test(cases[i].spec);
        struct compass compass;
        assert_int_equal(compass_init(&compass, &topology, "test", NULL), OK);
        assert_int_equal(compass.symmetric, cases[i].symmetric);
        compass_fini(&compass);
        topology_fini(&topology);
    }
}

static void ways_and_distances_are_right(void **state)
{
    struct topology topology = build_test("torus:6x5x2");
    struct compass compass;
    assert_int_equal(compass_init(&compass, &topology, "test", NULL), OK);
    assert_int_equal(compass_short_way(&compass, 0, 0, 2), COMPASS_UP);
    assert_int_equal(compass_short_way(&compass, 0, 0, 3), COMPASS_TIE);
    assert_int_equal(compass_short_way(&compass, 0, 0, 4), COMPASS_DOWN);
    assert_int_equal(compass_short_way(&compass, 1, 0, 4), COMPASS_HERE);
    assert_int_equal(compass_short_way(&compass, 1, 0, 6 * 2), COMPASS_UP);
    assert_int_equal(compass_short_way(&compass, 1, 0, 6 * 3), COMPASS_DOWN);
    assert_int_equal(compass_short_way(&compass, 2, 30, 0), COMPASS_UP); /* one cable: no tie */
    assert_int_equal(compass_ahead(&compass, 0, 5, 1, false), 2);
    assert_int_equal(compass_ahead(&compass, 0, 5, 1, true), 4);
    assert_int_equal(compass_distance(&compass, 0, 3 + 6 * 4 + 30), 3 + 1 + 1);
    assert_int_equal(compass_step(&compass, 1, 0, true, 4), 3);
    assert_int_equal(compass_step(&compass, 4, 0, false, 5), 3);
    assert_int_equal(compass_step(&compass, 4, 0, true, 0), 4);
    compass_fini(&compass);
    topology_fini(&topology);
}

static void refuse(const struct topology *topology, const char *expected)
{
    struct compass compass;
    struct why why = {0};
    assert_int_equal(compass_init(&compass, topology, "dor", &why), ERR_USAGE);
    assert_string_equal(why.text, expected);
}

/* A topology with the same links, except for the ends of one. */
static struct topology rewired(const struct topology *from, enum topology_kind kind, uint32_t drop,
                               const struct link *more)
{
    struct topology topology;
    uint32_t count = from->graph.link_count;
    struct link *links = array_copy(from->graph.links, count, sizeof *links);
    assert_non_null(links);
    if (more)
        links[drop] = *more;
    else
        links[drop] = links[--count];
    assert_int_equal(
        topology_init(&topology, kind, true, from->graph.node_count, links, count, NULL), OK);
    topology.axis_count = from->axis_count;
    memcpy(topology.axis_size, from->axis_size, sizeof from->axis_size);
    free(links);
    return topology;
}

static void a_wrong_cable_is_named(void **state)
{
    struct topology jelly = build_test("jellyfish:switches=10,ports=4,servers=10,seed=1");
    refuse(&jelly, "dor needs a torus or a NovaCube, but this network is a jellyfish");
    jelly.kind = TOPOLOGY_OTHER;
    refuse(&jelly, "dor needs a torus or a NovaCube, but this network has no axes");
    topology_fini(&jelly);

    struct topology torus = build_test("torus:4x4");
    struct topology cut = rewired(&torus, TOPOLOGY_TORUS, 0, NULL);
    refuse(&cut, "dor needs a torus, but here port 0 of 0 does not lead to 1");
    topology_fini(&cut);
    struct link wrong = {.a = 0, .b = 2, .a_port = 0, .b_port = 5};
    struct topology moved = rewired(&torus, TOPOLOGY_OTHER, 0, &wrong);
    refuse(&moved, "dor needs a torus, which has no cable at port 5 of 2");
    topology_fini(&moved);
    topology_fini(&torus);

    struct topology nova = build_test("novacube:4x4");
    nova.kind = TOPOLOGY_OTHER; /* the cables show what it is */
    struct compass compass;
    assert_int_equal(compass_init(&compass, &nova, "dor", NULL), OK);
    assert_true(compass.jumps);
    compass_fini(&compass);
    nova.kind = TOPOLOGY_TORUS;
    refuse(&nova, "dor needs a torus, which has no cable at port 4 of 0");
    topology_fini(&nova);

    struct topology ring = build_test("torus:65534");
    refuse(
        &ring,
        "dor: on axes of this length paths may have more than 65535 hops; use a smaller network");
    topology_fini(&ring);
}

TEST_MAIN(TEST(channels_lead_where_they_should),
          TEST(only_networks_without_odd_jumps_are_symmetric), TEST(ways_and_distances_are_right),
          TEST(a_wrong_cable_is_named))
