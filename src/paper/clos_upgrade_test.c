#include "paper/clos_upgrade.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/test.h"
#include "flow/bisection/bisection.h"

/* Compares with built fat-trees: their number of switches and their proved bisection. */
static void fat_trees_have_the_switches_and_bisection_of_built_ones(void **state)
{
    for (uint32_t k = 4; k <= 12; k += 2) {
        char spec[SPEC_SIZE];
        struct topology tree;
        struct bisection bisection;
        snprintf(spec, sizeof spec, "fattree:k=%u", k);
        assert_int_equal(topology_build(&tree, spec, NULL), OK);
        assert_int_equal(bisection_find(&bisection, &tree, 1, NULL), OK);
        uint32_t edges = k * k / 2, uplinks = edges * k / 2;
        struct clos_order order = {.ports = k, .servers_first = tree.server_count};
        assert_int_equal(edges + clos_upper(&order, edges, uplinks), tree.graph.node_count);
        double cut = clos_bisection(&order, edges, 0, uplinks) * tree.server_count / 2;
        assert_true(fabs(cut - (double)bisection.lower) < 1e-9);
        bisection_fini(&bisection);
        topology_fini(&tree);
    }
    (void)state;
}

/* Each edge switch has one cable to each of the switches above. */
static void one_level_has_the_switches_and_bisection_of_a_built_network(void **state)
{
    enum { EDGES = 8, UPPER = 5, SERVERS = 3 };
    struct link links[EDGES * UPPER];
    struct topology topology;
    struct bisection bisection;
    for (uint32_t i = 0; i < EDGES * UPPER; i++)
        links[i] = (struct link){i / UPPER, EDGES + i % UPPER, PORT_ANY, PORT_ANY};
    assert_int_equal(
        topology_init(&topology, TOPOLOGY_OTHER, false, EDGES + UPPER, links, EDGES * UPPER, NULL),
        OK);
    for (uint32_t e = 0; e < EDGES; e++)
        topology.sites[e].servers = SERVERS;
    topology_count_servers(&topology);
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_int_equal(bisection.lower, bisection.upper);
    struct clos_order order = {.ports = SERVERS + UPPER, .servers_first = EDGES * SERVERS};
    assert_int_equal(clos_upper(&order, EDGES, EDGES * UPPER), UPPER);
    double cut = clos_bisection(&order, EDGES, 0, EDGES * UPPER) * EDGES * SERVERS / 2;
    assert_true(fabs(cut - (double)bisection.lower) < 1e-9);
    bisection_fini(&bisection);
    topology_fini(&topology);
    (void)state;
}

/* Tries all divisions of the uplinks between the two purchases, each with its
 * worst half of the servers, and returns the best. */
static double bisection_by_trying(const struct clos_order *order, uint32_t first, uint32_t added,
                                  uint32_t uplinks)
{
    uint32_t first_most = order->ports * first - order->servers_first;
    uint32_t added_most = order->ports * added - order->servers_added;
    double half = (order->servers_first + order->servers_added) / 2.0, best = 0;
    for (uint32_t i = 0; i <= 20 * uplinks; i++) { /* in twentieths of a cable */
        double of_added = i / 20.0, of_first = fmin(uplinks - of_added, first_most);
        if (of_added > added_most)
            break;
        double least = INFINITY;
        for (uint32_t a = 0; a <= order->servers_added; a++) {
            double cut = of_added * a / order->servers_added;
            cut += of_first * (half - a) / order->servers_first;
            if (cut < least)
                least = cut;
        }
        best = fmax(best, least / half);
    }
    return best;
}

static void uplinks_are_divided_between_purchases_in_the_best_way(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng rng = rng_make(seed, 0);
        uint32_t ports = 8 + (uint32_t)rng_below(&rng, 17);
        uint32_t added = 1 + (uint32_t)rng_below(&rng, 5);
        uint32_t first = added + (uint32_t)rng_below(&rng, 5);
        struct clos_order order = {.ports = ports};
        order.servers_added = added + (uint32_t)rng_below(&rng, added * (ports - 2));
        order.servers_first = order.servers_added + (uint32_t)rng_below(&rng, 10);
        if (order.servers_first > first * (ports - 1))
            continue;
        uint32_t most = ports * (first + added) - order.servers_first - order.servers_added;
        uint32_t uplinks = 1 + (uint32_t)rng_below(&rng, most);
        double found = clos_bisection(&order, first, added, uplinks);
        double tried = bisection_by_trying(&order, first, added, uplinks);
        if (fabs(found - tried) > 0.1 / order.servers_added)
            fail_msg("seed %llu: %f, by trying %f", (unsigned long long)seed, found, tried);
    }
    (void)state;
}

static void plans_keep_to_their_budgets(void **state)
{
    struct clos_order order = {.ports = 24,
                               .switches_first = 34,
                               .servers_first = 480,
                               .servers_added = 240,
                               .stages = 9,
                               .switch_price = 2400};
    for (order.cable_price = 0; order.cable_price <= 200; order.cable_price += 50) {
        order.budget_first = 34 * order.switch_price + 168 * order.cable_price;
        order.budget = order.budget_first / 2;
        struct clos_plan greedy, foresight;
        assert_true(clos_upgrade(&greedy, &order, false));
        assert_true(clos_upgrade(&foresight, &order, true));
        assert_true(greedy.stage[0].bisection >= foresight.stage[0].bisection);
        assert_true(greedy.stage[8].bisection <= foresight.stage[8].bisection);
        for (uint32_t t = 0; t < order.stages; t++) {
            const struct clos_network *is = &foresight.stage[t], *was = is - (t > 0);
            uint32_t switches = is->edges_first + is->edges_added + is->upper;
            double spent = switches * order.switch_price + is->cables * order.cable_price;
            assert_true(fabs(spent - is->cost) < 1e-6);
            assert_true(t ? is->cost - was->cost <= order.budget : is->cost <= order.budget_first);
            assert_true(t < 2 || is->bisection >= was->bisection);
            assert_true(is->uplinks <= 24 * (is->edges_first + is->edges_added) - (t ? 720 : 480));
        }
    }
    order.budget = order.switch_price; /* one switch for 240 servers */
    struct clos_plan plan;
    assert_false(clos_upgrade(&plan, &order, false));
    assert_false(clos_upgrade(&plan, &order, true));
    (void)state;
}

TEST_MAIN(TEST(fat_trees_have_the_switches_and_bisection_of_built_ones),
          TEST(one_level_has_the_switches_and_bisection_of_a_built_network),
          TEST(uplinks_are_divided_between_purchases_in_the_best_way),
          TEST(plans_keep_to_their_budgets))
