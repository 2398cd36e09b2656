#include "flow/concurrent/price.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"
#include "topology/topology.h"

enum { SEED = 11, NODES = 30 };

/* Distances from a node by relaxing all channels until nothing changes. */
static void relax(const struct graph *graph, const double *weight, uint32_t source,
                  double *distance)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        distance[v] = v == source ? 0 : INFINITY;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t c = 0; c < graph_channel_count(graph); c++) {
            double through = distance[graph_channel_from(graph, c)] + weight[c];
            double *to = &distance[graph_channel_to(graph, c)];
            if (through < *to) {
                *to = through;
                changed = true;
            }
        }
    }
}

static void rounds_find_shortest_paths(void **state)
{
    for (uint64_t graph_seed = 1; graph_seed <= 20; graph_seed++) {
        struct topology topology;
        struct traffic traffic;
        struct flow_spread spread;
        struct price price;
        char spec[SPEC_SIZE];
        snprintf(spec, sizeof spec, "jellyfish:n=%d,degree=4,seed=%d", NODES, (int)graph_seed);
        assert_int_equal(topology_build(&topology, spec, NULL), OK);
        assert_int_equal(traffic_permutation(&traffic, &topology, graph_seed, NULL), OK);
        assert_int_equal(spread_open(&spread, &topology.graph, &traffic, NULL), OK);
        assert_int_equal(price_open(&price, &topology.graph, &traffic, NULL), OK);
        size_t channels = graph_channel_count(&topology.graph);
        double *weight = calloc(channels, sizeof *weight);
        assert_non_null(weight);
        struct rng rng = rng_make(SEED, graph_seed);
        for (int round = 0; round < 4; round++) {
            for (size_t c = 0; c < channels; c++)
                weight[c] = rng_unit(&rng) * rng_unit(&rng);
            double total, expected = 0, distance[NODES];
            size_t apart;
            assert_int_equal(price_round(&price, &spread, weight, &total, &apart, NULL), OK);
            for (size_t k = 0; k < traffic.count; k++) {
                relax(&topology.graph, weight, traffic.demands[k].from, distance);
                expected += distance[traffic.demands[k].to];
            }
            if (fabs(total - expected) > 1e-12 * expected)
                fail_msg("seed %d, graph %d: %.17g and not %.17g", SEED, (int)graph_seed, total,
                         expected);
            spread_check(&spread);
            /* now the spread has the shortest paths */
            assert_true(fabs(price_given(&spread, weight) - expected) <= 1e-12 * expected);
        }
        free(weight);
        price_close(&price);
        spread_close(&spread);
        traffic_fini(&traffic);
        topology_fini(&topology);
    }
}

TEST_MAIN(TEST(rounds_find_shortest_paths))
