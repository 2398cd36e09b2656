#include "routing/load/load.h"

#include <math.h>

#include "routing/route_cases.h"
#include "topology/measure/closed_form.h"

/* The smallest and largest load of the channels that leave by a port. */
static void port_loads(const struct route_case *test, const struct load *load, uint32_t port,
                       double *least, double *most)
{
    const struct graph *graph = &test->topology.graph;
    *least = INFINITY;
    *most = 0;
    for (uint32_t channel = 0; channel < graph_channel_count(graph); channel++) {
        if (graph_channel_port(graph, channel) != port)
            continue;
        *least = fmin(*least, load->channels[channel]);
        *most = fmax(*most, load->channels[channel]);
    }
}

/* Uniform traffic on a ring of even k: 1 + ... + k/2 of k offsets go up, and k/8 hops each way if
 * the tie is split. */
static void dimension_order_has_its_closed_form(void **state)
{
    struct route_case *one_way = route_case_open("torus:8x6", "dor");
    struct route_case *split = route_case_open("torus:8x6", "dor-split");
    struct traffic uniform = route_case_traffic(&one_way->topology, TRAFFIC_UNIFORM);
    struct load load = route_case_load(&one_way->router, &uniform);
    struct load even = route_case_load(&split->router, &uniform);
    const double expected[] = {10.0 / 8, 6.0 / 8, 6.0 / 6, 3.0 / 6};
    for (uint32_t port = 0; port < 4; port++) {
        double least, most;
        port_loads(one_way, &load, port, &least, &most);
        assert_within(least, expected[port], 1e-12);
        assert_within(most, expected[port], 1e-12);
        port_loads(split, &even, port, &least, &most);
        assert_within(least, port < 2 ? 1 : 0.75, 1e-12);
        assert_within(most, port < 2 ? 1 : 0.75, 1e-12);
    }
    assert_within(load.max, 1.25, 1e-12);
    assert_within(even.max, 1, 1e-12);
    load_fini(&load);
    load_fini(&even);
    traffic_fini(&uniform);
    route_case_close(one_way);
    route_case_close(split);
}

static void the_mean_path_of_dimension_order_is_the_mean_distance(void **state)
{
    static const uint32_t k[] = {2, 3, 4, 5, 8};
    for (uint32_t i = 0; i < 5; i++) {
        char spec[SPEC_SIZE];
        snprintf(spec, sizeof spec, "torus:%ux%ux%u", k[i], k[i], k[i]);
        struct route_case *test = route_case_open(spec, "dor");
        struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
        struct load load = route_case_load(&test->router, &uniform);
        struct closed_form form;
        assert_int_equal(closed_form_torus(k[i], 3, &form, NULL), OK);
        assert_within(load.mean_path, form.mean_path, 1e-9);
        load_fini(&load);
        traffic_fini(&uniform);
        route_case_close(test);
    }
}

/* The result from one node must be the result from all nodes. */
static void one_source_gives_the_loads_of_all(void **state)
{
    static const char *const specs[] = {"torus:4x4",    "torus:5x3",  "torus:2x2x2",
                                        "torus:1x6",    "torus:2x4",  "novacube:4x4",
                                        "novacube:6x2", "novacube:2", "novacube:4x4x2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
            struct route_case *test = route_case_try(specs[i], (*each)->name);
            if (!test)
                continue;
            struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
            struct load quick = route_case_load(&test->router, &uniform);
            struct router plain = test->router;
            plain.symmetric = false;
            struct load slow = route_case_load(&plain, &uniform);
            for (uint32_t channel = 0; channel < graph_channel_count(&test->topology.graph);
                 channel++)
                assert_within(quick.channels[channel], slow.channels[channel], 1e-9);
            assert_within(quick.mean_path, slow.mean_path, 1e-9);
            load_fini(&quick);
            load_fini(&slow);
            traffic_fini(&uniform);
            route_case_close(test);
        }
    }
}

/* One demand that differs must be noticed and counted on its path. */
static void nearly_uniform_traffic_is_not_treated_as_uniform(void **state)
{
    struct route_case *test = route_case_open("torus:4x4", "dor");
    struct traffic uniform = route_case_traffic(&test->topology, TRAFFIC_UNIFORM);
    uniform.demands[uniform.count - 1].amount += 1; /* from 15 to 14: one hop down */
    struct load load = route_case_load(&test->router, &uniform);
    assert_within(load.max, 0.25 + 1, 1e-12);
    assert_within(load.mean_path, (16 * 2 + 1) / (15 + 1.0), 1e-12);
    load_fini(&load);
    traffic_fini(&uniform);
    route_case_close(test);
}

/* The sum of loads is the number of hops; traffic within a node has none. */
static void loads_sum_to_the_hops_of_all_traffic(void **state)
{
    struct rng rng = rng_make(5, 0);
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        struct route_case *test = route_case_open("novacube:4x6", (*each)->name);
        uint32_t nodes = test->topology.graph.node_count, count = 40;
        struct demand *demands = array_new(count, sizeof *demands);
        assert_non_null(demands);
        for (uint32_t i = 0; i < count; i++)
            demands[i] = (struct demand){(uint32_t)rng_below(&rng, nodes),
                                         (uint32_t)rng_below(&rng, nodes), rng_unit(&rng) + 0.1};
        struct traffic traffic;
        assert_int_equal(traffic_make(&traffic, demands, count, NULL), OK);
        struct load load = route_case_load(&test->router, &traffic);
        double sum = 0, amount = 0, max = 0;
        for (uint32_t channel = 0; channel < graph_channel_count(&test->topology.graph);
             channel++) {
            sum += load.channels[channel];
            max = fmax(max, load.channels[channel]);
        }
        for (size_t i = 0; i < traffic.count; i++)
            amount += traffic.demands[i].amount;
        assert_within(sum, amount * load.mean_path, 1e-9);
        assert_within(max, load.max, 0);
        load_fini(&load);
        traffic_fini(&traffic);
        route_case_close(test);
    }
}

static void without_traffic_there_is_no_mean_path(void **state)
{
    struct route_case *test = route_case_open("torus:3x3", "dor");
    struct traffic none = {0};
    struct load load = route_case_load(&test->router, &none);
    assert_true(isnan(load.mean_path));
    assert_within(load.max, 0, 0);
    load_fini(&load);
    route_case_close(test);
}

/* Draws of single packets must follow the loads: each channel's count is binomial, or nearly,
 * because no walk here passes a channel twice. */
static void random_walks_follow_the_loads(void **state)
{
    enum { WALKS = 20000, HOPS = 64 };
    static const char *const specs[] = {"torus:4x5", "novacube:4x4"};
    struct rng rng = rng_make(11, 3);
    for (size_t s = 0; s < 2; s++) {
        for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
            struct route_case *test = route_case_open(specs[s], (*each)->name);
            uint32_t channels = graph_channel_count(&test->topology.graph), walk[HOPS], hops;
            double *expected = array_new(channels, sizeof *expected), mean = 0;
            double *seen = array_new(channels, sizeof *seen);
            assert_true(expected && seen);
            struct load_walk *exact;
            assert_int_equal(load_walk_open(&exact, &test->router, NULL), OK);
            assert_int_equal(load_add(exact, 1, 11, 1, expected, &mean, NULL), OK);
            for (uint32_t i = 0; i < WALKS; i++) {
                assert_int_equal(route_walk(&test->router, 1, 11, &rng, walk, HOPS, &hops, NULL),
                                 OK);
                assert_true(hops <= HOPS);
                for (uint32_t h = 0; h < hops; h++)
                    seen[walk[h]] += 1.0 / WALKS;
            }
            for (uint32_t channel = 0; channel < channels; channel++)
                if (fabs(seen[channel] - expected[channel]) > 5 * sqrt(0.25 / WALKS))
                    fail_msg("%s on %s (seed 11): channel %u: %g seen, %g expected", (*each)->name,
                             specs[s], channel, seen[channel], expected[channel]);
            load_walk_close(exact);
            free(expected);
            free(seen);
            route_case_close(test);
        }
    }
}

TEST_MAIN(TEST(dimension_order_has_its_closed_form),
          TEST(the_mean_path_of_dimension_order_is_the_mean_distance),
          TEST(one_source_gives_the_loads_of_all),
          TEST(nearly_uniform_traffic_is_not_treated_as_uniform),
          TEST(loads_sum_to_the_hops_of_all_traffic), TEST(without_traffic_there_is_no_mean_path),
          TEST(random_walks_follow_the_loads))
