/* Compares the throughput solver with CLP on random small networks of every shape: sparse, dense,
 * trees, parallel cables, bridges; traffic of few pairs and of all, with equal amounts and with
 * amounts that differ by a factor of a thousand; then stars, chains and bundles of cables, amounts
 * of any size, and any gap. Also the closed form of a torus's uniform capacity, and the search for
 * a NovaCube's. */
#include "flow/concurrent/concurrent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"
#include "flow/worst/capacity.h"
#include "oracle/flow_program.h"
#include "routing/paths/k_shortest.h"

enum { SEED = 20120425, GRAPHS = 200, NODES_MAX = 12, LINKS_MAX = 40 };

struct example {
    struct topology topology;
    struct traffic traffic;
};

/* Makes a random tree, so that the network is connected, and some more links. */
static void make_network(struct example *example, struct rng *rng)
{
    struct link links[LINKS_MAX];
    uint32_t nodes = 3 + (uint32_t)rng_below(rng, NODES_MAX - 2), count = 0;
    for (uint32_t v = 1; v < nodes; v++)
        links[count++] = (struct link){(uint32_t)rng_below(rng, v), v, PORT_ANY, PORT_ANY};
    uint32_t more = (uint32_t)rng_below(rng, LINKS_MAX - count);
    while (more--) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a != b)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    assert_int_equal(
        topology_init(&example->topology, TOPOLOGY_OTHER, true, nodes, links, count, NULL), OK);
}

static void make_traffic(struct example *example, struct rng *rng)
{
    uint32_t nodes = example->topology.graph.node_count;
    bool uneven = rng_below(rng, 2);
    size_t count = 1 + rng_below(rng, (uint64_t)nodes * (nodes - 1));
    struct demand *demands = calloc(count, sizeof *demands);
    assert_non_null(demands);
    for (size_t i = 0; i < count; i++) {
        uint32_t from = (uint32_t)rng_below(rng, nodes);
        uint32_t to = (from + 1 + (uint32_t)rng_below(rng, nodes - 1)) % nodes;
        demands[i] = (struct demand){from, to, uneven ? pow(1000, rng_unit(rng)) : 1};
    }
    assert_int_equal(traffic_make(&example->traffic, demands, count, NULL), OK);
}

static struct example make_example(uint32_t number)
{
    struct example example = {0};
    struct rng rng = rng_make(SEED, number);
    make_network(&example, &rng);
    make_traffic(&example, &rng);
    return example;
}

static void example_fini(struct example *example)
{
    traffic_fini(&example->traffic);
    topology_fini(&example->topology);
}

static void check_bracket(const struct example *example, const struct path_set *paths,
                          double optimum, uint32_t number)
{
    struct concurrent found;
    struct concurrent_options options = {.gap = 0.001, .paths = paths};
    assert_int_equal(
        concurrent_solve(&found, &example->topology, &example->traffic, &options, NULL), OK);
    if (!(found.gap <= 0.001 && found.lower <= optimum * (1 + 1e-7) &&
          optimum <= found.upper * (1 + 1e-7)))
        fail_msg("seed %d, graph %u: %.9g to %.9g (gap %.9g, %llu phases), and CLP says %.9g", SEED,
                 number, found.lower, found.upper, found.gap, (unsigned long long)found.phases,
                 optimum);
    concurrent_fini(&found);
}

static void brackets_hold_the_exact_optimum(void **state)
{
    for (uint32_t number = 0; number < GRAPHS; number++) {
        struct example example = make_example(number);
        double optimum = flow_program_solve(&example.topology.graph, &example.traffic);
        check_bracket(&example, NULL, optimum, number);
        example_fini(&example);
    }
}

static void brackets_hold_the_optimum_over_given_paths(void **state)
{
    for (uint32_t number = 0; number < GRAPHS; number++) {
        struct example example = make_example(number);
        struct path_set paths = {0};
        enum k_shortest_rule rule = number % 2 ? K_SHORTEST_ANY : K_SHORTEST_EQUAL;
        assert_int_equal(k_shortest_traffic(&paths, &example.topology, &example.traffic,
                                            1 + number % 5, rule, SEED, NULL),
                         OK);
        double optimum =
            flow_program_solve_paths(&example.topology.graph, &example.traffic, &paths);
        check_bracket(&example, &paths, optimum, number);
        path_set_fini(&paths);
        example_fini(&example);
    }
}

/* Makes a star, a chain, a few cables between two nodes, or any network. */
static void make_odd_network(struct example *example, struct rng *rng)
{
    struct link links[NODES_MAX];
    uint32_t nodes = 2 + (uint32_t)rng_below(rng, NODES_MAX - 2), count = 0;
    switch (rng_below(rng, 4)) {
    case 0:
        for (uint32_t v = 1; v < nodes; v++)
            links[count++] = (struct link){0, v, PORT_ANY, PORT_ANY};
        break;
    case 1:
        for (uint32_t v = 1; v < nodes; v++)
            links[count++] = (struct link){v - 1, v, PORT_ANY, PORT_ANY};
        break;
    case 2:
        for (uint32_t i = 0; i + 1 < nodes; i++)
            links[count++] = (struct link){i % 2, 1 - i % 2, PORT_ANY, PORT_ANY};
        nodes = 2;
        break;
    default:
        make_network(example, rng);
        return;
    }
    assert_int_equal(
        topology_init(&example->topology, TOPOLOGY_OTHER, true, nodes, links, count, NULL), OK);
}

/* Scales the amounts to differ by up to 10^18, with the largest 1, as CLP needs it. */
static void scatter_amounts(struct traffic *traffic, struct rng *rng)
{
    double decades = (double)rng_below(rng, 19), most = 0;
    for (size_t i = 0; i < traffic->count; i++) {
        traffic->demands[i].amount = pow(10, -decades * rng_unit(rng));
        most = fmax(most, traffic->demands[i].amount);
    }
    for (size_t i = 0; i < traffic->count; i++)
        traffic->demands[i].amount /= most;
}

static void brackets_hold_for_odd_networks_amounts_and_gaps(void **state)
{
    static const double gaps[] = {1, 0.5, 0.01, 1e-4, 1e-6}, units[] = {1, 1e-60, 1e60};
    for (uint32_t number = GRAPHS; number < 2 * GRAPHS; number++) {
        struct example example = {0};
        struct rng rng = rng_make(SEED, number);
        make_odd_network(&example, &rng);
        make_traffic(&example, &rng);
        scatter_amounts(&example.traffic, &rng);
        double optimum = flow_program_solve(&example.topology.graph, &example.traffic);
        double unit = units[number % 3], gap = gaps[number % 5];
        for (size_t i = 0; i < example.traffic.count; i++)
            example.traffic.demands[i].amount *= unit;
        struct concurrent found;
        struct concurrent_options options = {.gap = gap};
        assert_int_equal(
            concurrent_solve(&found, &example.topology, &example.traffic, &options, NULL), OK);
        if (!(found.gap <= gap * (1 + 1e-9) && found.lower <= found.upper * (1 + 1e-12) &&
              found.lower * unit <= optimum * (1 + 1e-6) &&
              optimum <= found.upper * unit * (1 + 1e-6)))
            fail_msg("seed %d, graph %u: %.9g to %.9g (gap %.9g of %g), and CLP says %.9g", SEED,
                     number, found.lower * unit, found.upper * unit, found.gap, gap, optimum);
        concurrent_fini(&found);
        example_fini(&example);
    }
}

static void capacities_hold_the_exact_optimum(void **state)
{
    static const char *const specs[] = {
        "torus:2",       "torus:3",      "torus:5",      "torus:6",      "torus:2x2",
        "torus:2x3",     "torus:4x3",    "torus:1x4",    "torus:5x2",    "torus:2x2x3",
        "torus:4x4",     "novacube:2",   "novacube:3",   "novacube:5",   "novacube:6",
        "novacube:2x2",  "novacube:3x3", "novacube:4x3", "novacube:4x4", "novacube:2x2x2",
        "novacube:2x2x3"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct example example;
        struct capacity capacity;
        assert_int_equal(topology_build(&example.topology, specs[i], NULL), OK);
        assert_int_equal(
            traffic_make_pattern(&example.traffic, &example.topology, TRAFFIC_UNIFORM, NULL), OK);
        assert_int_equal(uniform_capacity(&capacity, &example.topology, 1e-4, NULL, NULL, NULL),
                         OK);
        double optimum = flow_program_solve(&example.topology.graph, &example.traffic);
        if (!(capacity.lower <= optimum * (1 + 1e-7) && optimum <= capacity.upper * (1 + 1e-7) &&
              capacity.upper <= capacity.lower * (1 + 1.001e-4)))
            fail_msg("%s: %.9g to %.9g, and CLP says %.9g", specs[i], capacity.lower,
                     capacity.upper, optimum);
        assert_true(capacity.closed_form == (specs[i][0] == 't'));
        example_fini(&example);
    }
}

TEST_MAIN(TEST(brackets_hold_the_exact_optimum), TEST(brackets_hold_the_optimum_over_given_paths),
          TEST(brackets_hold_for_odd_networks_amounts_and_gaps),
          TEST(capacities_hold_the_exact_optimum))
