#include "routing/torus/pora_impl.h"

#include <math.h>

#include "routing/route_cases.h"
#include "topology/generate/novacube.h"

static uint32_t first_hops(const struct route_case *test, uint32_t from, uint32_t to,
                           struct route_move moves[2 * AXIS_MAX + 1])
{
    const struct route_algorithm *algorithm = test->router.algorithm;
    struct route_state start = {0};
    assert_int_equal(algorithm->start_count(&test->router, from, to), 1);
    assert_within(algorithm->start(&test->router, from, to, 0, &start), 1, 0);
    return algorithm->moves(&test->router, from, to, &start, moves);
}

/* An 8 x 8 NovaCube and a destination 2 + 3 hops away: the neighbours are at 4, 4, 6, 6 and, over
 * the jump, 3, as in figure 4. All interpretations agree on it. */
static void the_shares_of_figure_4_are_reproduced(void **state)
{
    static const char *const names[] = {"pora", "pora-around", "pora-quadrants"};
    for (size_t i = 0; i < 3; i++) {
        struct route_case *test = route_case_open("novacube:8x8", names[i]);
        struct route_move moves[2 * AXIS_MAX + 1];
        assert_int_equal(first_hops(test, 1 + 8 * 2, 3 + 8 * 5, moves), 5);
        const double percent[] = {21.43, 9.524, 21.43, 9.524, 38.10}; /* x up, x down, y up, ... */
        for (uint32_t port = 0; port < 5; port++) {
            assert_int_equal(graph_channel_port(&test->topology.graph, moves[port].channel), port);
            assert_within(moves[port].share * 100, percent[port], 0.005);
        }
        route_case_close(test);
    }
}

static void a_neighbour_that_is_the_destination_is_taken(void **state)
{
    struct route_case *test = route_case_open("novacube:6x6", "pora");
    struct route_move moves[2 * AXIS_MAX + 1];
    assert_int_equal(first_hops(test, 0, 6, moves), 1);
    assert_int_equal(graph_channel_to(&test->topology.graph, moves[0].channel), 6);
    assert_int_equal(first_hops(test, 0, 21, moves), 1); /* its antipode */
    assert_int_equal(graph_channel_port(&test->topology.graph, moves[0].channel), 4);
    route_case_close(test);

    test = route_case_open("novacube:2", "pora"); /* two cables between two nodes */
    assert_int_equal(first_hops(test, 1, 0, moves), 2);
    assert_within(moves[0].share, 0.5, 0);
    assert_int_not_equal(moves[0].channel, moves[1].channel);
    route_case_close(test);
}

/* The mean path of a packet by the simplest interpretation, for even sizes: the rest of the path
 * from a neighbour is its distance, except that the jump is taken if the neighbour's antipode is
 * the destination; no other box contains a jump. */
static double oracle_distance(const struct topology *topology, uint32_t from, uint32_t to)
{
    uint32_t a[AXIS_MAX], b[AXIS_MAX];
    double sum = 0;
    topology_coordinate(topology, from, a);
    topology_coordinate(topology, to, b);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        double size = topology->axis_size[axis], gap = fabs((double)a[axis] - b[axis]);
        sum += fmin(gap, size - gap);
    }
    return sum;
}

static double oracle_path(const struct topology *topology, uint32_t from, uint32_t to, bool jump)
{
    const struct graph *graph = &topology->graph;
    uint32_t jump_port = 2 * topology->axis_count;
    double sum = 0, path = 0;
    if (from == to)
        return 0;
    for (uint32_t slot = graph->first[from]; slot < graph->first[from + 1]; slot++)
        if (graph->to[slot] == to &&
            (jump || graph_channel_port(graph, graph->channel[slot]) != jump_port))
            return 1;
    for (uint32_t slot = graph->first[from]; slot < graph->first[from + 1]; slot++) {
        uint32_t next = graph->to[slot];
        double weight = pow(oracle_distance(topology, next, to), -2), left;
        if (graph_channel_port(graph, graph->channel[slot]) != jump_port)
            left = novacube_jump(topology->axis_size, topology->axis_count, next) == to
                       ? 1
                       : oracle_distance(topology, next, to);
        else if (jump)
            left = oracle_path(topology, next, to, false);
        else
            continue;
        sum += weight;
        path += weight * (1 + left);
    }
    return path / sum;
}

static void the_mean_path_is_that_of_a_plain_recursion(void **state)
{
    static const char *const specs[] = {"novacube:4x4",   "novacube:8x8", "novacube:6x4",
                                        "novacube:4x4x4", "novacube:8",   "novacube:2x6"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "pora");
        struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
        struct load load = route_case_load(&test->router, &uniform);
        uint32_t nodes = test->topology.graph.node_count;
        double sum = 0;
        for (uint32_t to = 1; to < nodes; to++)
            sum += oracle_path(&test->topology, 0, to, true);
        assert_within(load.mean_path, sum / (nodes - 1), 1e-9);
        load_fini(&load);
        traffic_fini(&uniform);
        route_case_close(test);
    }
}

/* Random walks: after the first hop (and the jump before it) every hop leads nearer to the
 * destination, as section V-B says. */
static void all_hops_but_the_first_lead_nearer(void **state)
{
    static const char *const specs[] = {"novacube:8x8", "novacube:5x7", "novacube:5x4x3"};
    struct rng rng = rng_make(21, 0);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "pora");
        const struct graph *graph = &test->topology.graph;
        for (uint32_t trial = 0; trial < 2000; trial++) {
            uint32_t from = (uint32_t)rng_below(&rng, graph->node_count);
            uint32_t to = (uint32_t)rng_below(&rng, graph->node_count);
            uint32_t channels[64], hops;
            assert_int_equal(route_walk(&test->router, from, to, &rng, channels, 64, &hops, NULL),
                             OK);
            uint32_t first = 1;
            if (hops && graph_channel_port(graph, channels[0]) == 2 * test->topology.axis_count)
                first = 2;
            for (uint32_t hop = first; hop < hops; hop++)
                assert_true(
                    oracle_distance(&test->topology, graph_channel_to(graph, channels[hop]), to) <
                    oracle_distance(&test->topology, graph_channel_from(graph, channels[hop]), to));
        }
        route_case_close(test);
    }
}

/* No axis is travelled in both directions between jumps, so a first hop away from the destination
 * goes round the ring. */
static void the_variants_never_turn_round(void **state)
{
    static const char *const names[] = {"pora-around", "pora-quadrants"};
    struct rng rng = rng_make(22, 0);
    uint32_t jumps_late = 0; /* jumps after the first hop: the boxes are wide enough */
    for (size_t i = 0; i < 2; i++) {
        struct route_case *test = route_case_open("novacube:6x8", names[i]);
        const struct graph *graph = &test->topology.graph;
        for (uint32_t trial = 0; trial < 4000; trial++) {
            uint32_t from = (uint32_t)rng_below(&rng, graph->node_count);
            uint32_t to = (uint32_t)rng_below(&rng, graph->node_count);
            uint32_t channels[64], hops, used = 0;
            assert_int_equal(route_walk(&test->router, from, to, &rng, channels, 64, &hops, NULL),
                             OK);
            for (uint32_t hop = 0; hop < hops; hop++) {
                uint32_t port = graph_channel_port(graph, channels[hop]);
                jumps_late += port == 4 && hop > 0;
                if (port == 4 && hop == 0)
                    continue;
                used |= 1u << port;
            }
            assert_true((used & 3) != 3 && (used & 12) != 12);
        }
        route_case_close(test);
    }
    assert_true(jumps_late > 0);
}

/* The destination is up both axes: the neighbours up x, up y, down x and down y get the quadrants I
 * to IV, counter-clockwise. From the destination back it is the same in the opposite directions. */
static void each_neighbour_has_one_quadrant(void **state)
{
    static const uint32_t ports[] = {0, 2, 1, 3};
    static const uint16_t downwards[] = {0, 1, 3, 2}; /* bit 0: down x; bit 1: down y */
    struct route_case *test = route_case_open("novacube:8x8", "pora-quadrants");
    const struct compass *compass = compass_of(&test->router);
    uint32_t near = 0, far = 2 + 8 * 3;
    for (uint32_t i = 0; i < 4; i++) {
        struct pora_box box = pora_box_of(compass, PORA_QUADRANTS, near, far, ports[i]);
        assert_int_equal(box.downwards, downwards[i]);
        struct pora_box back = pora_box_of(compass, PORA_QUADRANTS, far, near, ports[i] ^ 1);
        assert_int_equal(back.downwards, downwards[i] ^ 3);
    }
    route_case_close(test);
}

static void one_quadrant_per_neighbour_needs_two_axes(void **state)
{
    assert_null(route_case_try("novacube:4x4x4", "pora-quadrants"));
    assert_null(route_case_try("novacube:8", "pora-quadrants"));
}

TEST_MAIN(TEST(the_shares_of_figure_4_are_reproduced),
          TEST(a_neighbour_that_is_the_destination_is_taken),
          TEST(the_mean_path_is_that_of_a_plain_recursion),
          TEST(all_hops_but_the_first_lead_nearer), TEST(the_variants_never_turn_round),
          TEST(each_neighbour_has_one_quadrant), TEST(one_quadrant_per_neighbour_needs_two_axes))
