#include "topology/generate/swdc.h"

#include <math.h>
#include <string.h>

#include "topology/generate/reach_test.h"

static void check_degree_6(const char *spec)
{
    struct topology topology = reach_build(spec);
    struct reach reach = reach_measure(&topology.graph, 1);
    if (reach.degree_min != 6 || reach.degree_max != 6 || !reach.simple)
        fail_msg("%s: degrees %u to %u", spec, reach.degree_min, reach.degree_max);
    assert_int_equal(reach.pairs + 1, topology.graph.node_count);
    assert_true(topology.direct);
    topology_fini(&topology);
}

static void every_node_has_six_neighbours(void **state)
{
    char spec[64];
    for (uint32_t seed = 0; seed < 5; seed++) {
        for (uint32_t n = 7; n <= 60; n++) {
            snprintf(spec, sizeof spec, "swdc-ring:%u,seed=%u", n, seed);
            check_degree_6(spec);
        }
        for (uint32_t x = 3; x <= 8; x++) {
            for (uint32_t y = 3; y <= 8; y++) {
                snprintf(spec, sizeof spec, "swdc-torus2d:%ux%u,seed=%u", x, y, seed);
                check_degree_6(spec);
                snprintf(spec, sizeof spec, "swdc-hex3d:%ux%ux%u,seed=%u", x / 2 * 2 + 2, y - 1, x,
                         seed);
                check_degree_6(spec);
            }
        }
    }
    check_degree_6("swdc-ring:484");
    check_degree_6("swdc-torus2d:22x22");
    check_degree_6("swdc-hex3d:10x15x3");
    check_degree_6("swdc-hex3d:4x2x3");
}

static void a_seed_determines_the_network(void **state)
{
    struct topology one = reach_build("swdc-ring:100"), again = reach_build("swdc-ring:100,seed=1"),
                    other = reach_build("swdc-ring:100,seed=2");
    assert_true(graph_equal(&one.graph, &again.graph));
    assert_false(graph_equal(&one.graph, &other.graph));
    assert_string_equal(one.spec, "swdc-ring:100,seed=1");
    topology_fini(&one);
    topology_fini(&again);
    topology_fini(&other);
}

/* The same cables on every machine: a checksum over the network of this seed. */
static void the_network_of_a_seed_never_changes(void **state)
{
    static const struct {
        const char *spec;
        uint64_t sum;
    } cases[] = {{"swdc-ring:484,seed=1", 9400736579609262272ull},
                 {"swdc-torus2d:22x22,seed=1", 8008496806032605994ull},
                 {"swdc-hex3d:10x15x3,seed=1", 5567730633311568326ull}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology = reach_build(cases[i].spec);
        uint64_t sum = 0;
        for (uint32_t e = 0; e < topology.graph.link_count; e++)
            sum = sum * 1000003 + topology.graph.links[e].a * 1009 + topology.graph.links[e].b;
        if (sum != cases[i].sum)
            fail_msg("%s: %lluu", cases[i].spec, (unsigned long long)sum);
        topology_fini(&topology);
    }
}

/* The lattice of a honeycomb: ports 0 to 2 within the layer, 3 and 4 between layers. Its shortest
 * cycle has six nodes. */
static void the_hex_lattice_is_a_honeycomb(void **state)
{
    struct topology topology = reach_build("swdc-hex3d:12x7x5");
    const struct graph *graph = &topology.graph;
    struct link *links = array_new(graph->link_count, sizeof *links);
    uint32_t count = 0;
    assert_true(links);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        uint32_t layer = 12 * 7, a = link->a / layer, b = link->b / layer;
        if (link->a_port < 3) {
            assert_int_equal(a, b);
            links[count++] = *link;
        } else if (link->a_port < 5) {
            assert_int_equal(link->a % layer, link->b % layer);
            assert_int_equal(b, (a + 1) % 5);
        }
    }
    struct graph layers;
    assert_int_equal(graph_make(&layers, graph->node_count, links, count, NULL), OK);
    uint32_t *distance = array_new(graph->node_count, sizeof *distance);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    for (uint32_t v = 0; v < 84; v++) { /* 3, 6, 9 nodes at distance 1, 2, 3, as in a honeycomb */
        uint32_t shell[4] = {0};
        reach_search(&layers, v, distance, queue);
        for (uint32_t w = 0; w < graph->node_count; w++)
            if (distance[w] < 4)
                shell[distance[w]]++;
        assert_int_equal(shell[1], 3);
        assert_int_equal(shell[2], 6);
        assert_int_equal(shell[3], 9);
    }
    free(distance);
    free(queue);
    free(links);
    graph_fini(&layers);
    topology_fini(&topology);
}

/* The random cables of a ring by the decade of their length. With weights 1/d from 2 on, the
 * decades to 10, 100 and 1000 weigh 1.93, 2.26 and 2.30. Nearby nodes without free ports push some
 * cables farther. */
static void near_nodes_are_preferred(void **state)
{
    struct topology topology = reach_build("swdc-ring:2001,seed=7");
    double share[3] = {0};
    uint32_t random_count = 0;
    for (uint32_t e = 0; e < topology.graph.link_count; e++) {
        const struct link *link = &topology.graph.links[e];
        if (link->a_port < 2)
            continue;
        uint32_t gap = link->a < link->b ? link->b - link->a : link->a - link->b;
        gap = gap < 2001 - gap ? gap : 2001 - gap;
        assert_true(gap >= 2);
        share[gap <= 10 ? 0 : gap <= 100 ? 1 : 2]++;
        random_count++;
    }
    assert_int_equal(random_count, 4002);
    static const double expected[] = {0.297, 0.348, 0.355};
    for (int i = 0; i < 3; i++)
        if (fabs(share[i] / random_count - expected[i]) > 0.05)
            fail_msg("decade %d has a share of %g", i, share[i] / random_count);
    topology_fini(&topology);
}

static void a_network_with_servers_is_switched(void **state)
{
    struct topology topology = reach_build("swdc-ring:484,servers=2");
    assert_false(topology.direct);
    assert_int_equal(topology.server_count, 968);
    assert_int_equal(topology_switch_count(&topology), 484);
    assert_string_equal(topology.spec, "swdc-ring:484,seed=1,servers=2");
    topology_fini(&topology);
}

TEST_MAIN(TEST(every_node_has_six_neighbours), TEST(a_seed_determines_the_network),
          TEST(the_network_of_a_seed_never_changes), TEST(the_hex_lattice_is_a_honeycomb),
          TEST(near_nodes_are_preferred), TEST(a_network_with_servers_is_switched))
