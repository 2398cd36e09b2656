#include "flow/total/total.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "flow/bisection/example.h"
#include "flow/bisection/simplex.h"

static struct total solve(const struct topology *topology, const struct traffic *traffic,
                          double gap)
{
    struct total total;
    assert_int_equal(total_solve(&total, topology, traffic, gap, 0, NULL), OK);
    assert_true(total.lower <= total.upper * (1 + 1e-9));
    assert_true(total.upper <= total.lower * (1 + gap));
    return total;
}

static void traffic_of(struct traffic *traffic, const struct demand *demands, size_t count)
{
    struct demand *copy = array_copy(demands, count, sizeof *demands);
    assert_int_equal(traffic_make(traffic, copy, count, NULL), OK);
}

/* The unserved part of a huge demand must not weaken the proof: one part in 10^8 of it is as much
 * as a link carries. */
static void a_huge_demand_does_not_weaken_the_proof(void **state)
{
    struct topology topology;
    struct traffic traffic;
    example_complete(&topology, 4);
    traffic_of(&traffic, (struct demand[]){{0, 1, 1e8}, {2, 3, 0.25}, {1, 2, 1e-6}}, 3);
    struct total total = solve(&topology, &traffic, 0.001);
    double best = 3 + 0.25 + 1e-6; /* the huge one fills all paths out of 0 and into 1 */
    assert_true(total.lower <= best * (1 + 1e-9) && total.upper >= best * (1 - 1e-9));
    traffic_fini(&traffic);
    topology_fini(&topology);
}

/* One demand starves a chain of other demands or is not served, whichever carries more in total. */
static void the_total_is_maximised_not_the_share(void **state)
{
    static const struct link chain[] = {
        {0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    static const struct demand demands[] = {{0, 3, 1}, {0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
    struct topology topology;
    struct traffic traffic;
    example_make(&topology, 4, chain, 3);
    traffic_of(&traffic, demands, 4);
    struct total total = solve(&topology, &traffic, 0.001); /* concurrent: 4 * 1/2 */
    assert_true(total.lower <= 3 + 1e-9 && total.upper >= 3 - 1e-9);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void no_demand_is_served_twice(void **state)
{
    struct topology topology;
    struct traffic traffic;
    example_complete(&topology, 6); /* five ways out, and little to send */
    traffic_of(&traffic, (struct demand[]){{0, 1, 0.25}, {2, 3, 0.5}}, 2);
    struct total total = solve(&topology, &traffic, 0.001);
    assert_true(total.lower <= 0.75 + 1e-9 && total.upper >= 0.75 - 1e-9);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void a_disconnected_pair_gets_nothing(void **state)
{
    static const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    struct traffic traffic;
    example_make(&topology, 5, links, 2);
    traffic_of(&traffic, (struct demand[]){{0, 1, 3}, {1, 2, 2}, {4, 3, 0.5}}, 3);
    struct total total = solve(&topology, &traffic, 0.001);
    assert_true(total.lower <= 1 + 1e-9 && total.upper >= 1 - 1e-9);
    assert_within(total.unreachable, 2.5, 1e-12);
    traffic_fini(&traffic);
    traffic_of(&traffic, (struct demand[]){{0, 2, 1}}, 1);
    assert_int_equal(total_solve(&total, &topology, &traffic, 0.01, 0, NULL), OK);
    assert_true(total.lower == 0 && total.upper == 0 && total.unreachable == 1);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void a_fat_tree_carries_all_of_a_permutation(void **state)
{
    struct topology topology;
    struct traffic traffic;
    example_spec(&topology, "fattree:k=6");
    assert_int_equal(traffic_permutation(&traffic, &topology, 7, NULL), OK);
    struct total total = solve(&topology, &traffic, 0.005);
    double all = topology.server_count - traffic.local;
    assert_true(total.lower <= all * (1 + 1e-9) && total.upper >= all * (1 - 1e-9));
    traffic_fini(&traffic);
    topology_fini(&topology);
}

/* --- compared with the linear program over all paths --- */

enum { NODE_MAX = 7, PATH_MAX = 4000, HOP_MAX = 7 };

struct path {
    uint32_t demand, hops, channels[HOP_MAX];
};

struct walk {
    const struct graph *graph;
    struct path *paths;
    uint32_t count;
};

/* Every path without a repeated node from `node` on. */
static void walk_on(struct walk *walk, struct path *path, uint32_t node, uint32_t target,
                    uint32_t visited)
{
    if (node == target) {
        assert_true(walk->count < PATH_MAX);
        walk->paths[walk->count++] = *path;
        return;
    }
    for (uint32_t s = walk->graph->first[node]; s < walk->graph->first[node + 1]; s++) {
        uint32_t to = walk->graph->to[s];
        if (visited >> to & 1)
            continue;
        path->channels[path->hops++] = walk->graph->channel[s];
        walk_on(walk, path, to, target, visited | 1u << to);
        path->hops--;
    }
}

static double best_by_simplex(const struct topology *topology, const struct traffic *traffic)
{
    static struct path paths[PATH_MAX];
    struct walk walk = {&topology->graph, paths, 0};
    for (uint32_t k = 0; k < traffic->count; k++) {
        const struct demand *demand = &traffic->demands[k];
        struct path path = {.demand = k};
        walk_on(&walk, &path, demand->from, demand->to, 1u << demand->from);
    }
    if (!walk.count)
        return 0;
    struct simplex simplex;
    uint32_t channels = graph_channel_count(&topology->graph);
    assert_int_equal(simplex_init(&simplex, channels + (uint32_t)traffic->count, walk.count, NULL),
                     OK);
    for (uint32_t c = 0; c < channels; c++)
        simplex_set_limit(&simplex, c, 1);
    for (uint32_t k = 0; k < traffic->count; k++)
        simplex_set_limit(&simplex, channels + k, traffic->demands[k].amount);
    for (uint32_t p = 0; p < walk.count; p++) {
        simplex_set_gain(&simplex, p, 1);
        simplex_set(&simplex, channels + paths[p].demand, p, 1);
        for (uint32_t h = 0; h < paths[p].hops; h++)
            simplex_set(&simplex, paths[p].channels[h], p, 1);
    }
    double x[PATH_MAX], sum = 0;
    simplex_solve(&simplex, x);
    simplex_fini(&simplex);
    for (uint32_t p = 0; p < walk.count; p++)
        sum += x[p];
    return sum;
}

static void random_graphs_agree_with_the_linear_program(void **state)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct rng rng = rng_make(seed, 0);
        struct topology topology;
        struct traffic traffic;
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, NODE_MAX - 1);
        uint32_t cables = nodes - 1 + (uint32_t)rng_below(&rng, 7);
        example_random(&topology, nodes, cables, rng_below(&rng, 4) > 0, 0, &rng);
        struct demand demands[12];
        uint32_t count = 1 + (uint32_t)rng_below(&rng, 12);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t from = (uint32_t)rng_below(&rng, nodes);
            uint32_t to = (uint32_t)rng_below(&rng, nodes - 1);
            to += to >= from; /* any other node */
            demands[i] = (struct demand){from, to, 0.25 * (1 + (double)rng_below(&rng, 8))};
        }
        traffic_of(&traffic, demands, count);
        double best = best_by_simplex(&topology, &traffic);
        struct total total = solve(&topology, &traffic, 0.002);
        if (total.lower > best + 1e-6 || total.upper < best - 1e-6)
            fail_msg("seed %llu: %.6f to %.6f, the program says %.6f", (unsigned long long)seed,
                     total.lower, total.upper, best);
        traffic_fini(&traffic);
        topology_fini(&topology);
    }
}

TEST_MAIN(TEST(the_total_is_maximised_not_the_share), TEST(a_huge_demand_does_not_weaken_the_proof),
          TEST(no_demand_is_served_twice), TEST(a_disconnected_pair_gets_nothing),
          TEST(a_fat_tree_carries_all_of_a_permutation),
          TEST(random_graphs_agree_with_the_linear_program))
