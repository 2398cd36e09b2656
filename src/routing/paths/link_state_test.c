#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "routing/load/load.h"
#include "routing/paths/walk_table.h"
#include "routing/route_cases.h"

#define SEED 75

static const char *const specs[] = {"degree-diameter:10,3,2",
                                    "fattree:k=4",
                                    "jellyfish:n=30,degree=4,seed=2",
                                    "torus:4x5",
                                    "torus:2x3",
                                    "novacube:4x4"};
enum { SPEC_COUNT = sizeof specs / sizeof *specs };

/* Follows every hop that leads nearer: without states or tables. */
static void spread_directly(const struct walk_table *table, uint32_t at, double amount,
                            double *channels)
{
    const struct graph *graph = table->graph;
    uint32_t nearer = 0;
    for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++)
        nearer += table->bfs.level[graph->to[slot]] < table->bfs.level[at];
    for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++) {
        if (table->bfs.level[graph->to[slot]] >= table->bfs.level[at])
            continue;
        channels[graph->channel[slot]] += amount / nearer;
        spread_directly(table, graph->to[slot], amount / nearer, channels);
    }
}

static void shares_of_each_pair_agree_with_direct_computation(void **state)
{
    for (int i = 0; i < SPEC_COUNT; i++) {
        struct route_case *test = route_case_open(specs[i], "link-state");
        const struct graph *graph = &test->topology.graph;
        size_t size = graph_channel_count(graph);
        double *found = array_new(size, sizeof *found), *by_hand = array_new(size, sizeof *found);
        struct walk_table table;
        struct load_walk *walk;
        assert_true(found && by_hand);
        assert_int_equal(walk_table_init(&table, graph, NULL), OK);
        assert_int_equal(load_walk_open(&walk, &test->router, NULL), OK);
        for (uint32_t to = 0; to < graph->node_count; to++) {
            walk_table_aim(&table, to);
            for (uint32_t from = 0; from < graph->node_count; from++) {
                double hops = 0;
                memset(found, 0, size * sizeof *found);
                memset(by_hand, 0, size * sizeof *found);
                assert_int_equal(load_add(walk, from, to, 1, found, &hops, NULL), OK);
                spread_directly(&table, from, 1, by_hand);
                for (size_t channel = 0; channel < size; channel++)
                    assert_within(found[channel], by_hand[channel], 1e-12);
                assert_within(hops, table.bfs.level[from], 1e-9);
            }
        }
        load_walk_close(walk);
        walk_table_fini(&table);
        free(found);
        free(by_hand);
        route_case_close(test);
    }
}

static void every_packet_arrives_by_a_shortest_path(void **state)
{
    print_message("# seed %d\n", SEED);
    struct rng rng = rng_make(SEED, 0);
    for (int i = 0; i < SPEC_COUNT; i++) {
        struct route_case *test = route_case_open(specs[i], "link-state");
        struct walk_table table;
        uint32_t nodes = test->topology.graph.node_count;
        assert_int_equal(walk_table_init(&table, &test->topology.graph, NULL), OK);
        for (uint32_t to = 0; to < nodes; to++) {
            walk_table_aim(&table, to);
            for (uint32_t from = 0; from < nodes; from++) {
                uint32_t channels[16], hops;
                assert_int_equal(
                    route_walk(&test->router, from, to, &rng, channels, 16, &hops, NULL), OK);
                assert_int_equal(hops, table.bfs.level[from]);
            }
        }
        walk_table_fini(&table);
        route_case_close(test);
    }
}

static void a_disconnected_or_too_large_network_is_refused(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    struct router router;
    struct why why = {{0}};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 4, links, 2, NULL), OK);
    assert_int_equal(router_open(&router, "link-state", &topology, NULL, &why), ERR_NO);
    assert_string_equal(why.text, "link-state: there is no path from 0 to 2");
    topology_fini(&topology);
    assert_int_equal(topology_build(&topology, "torus:120x120", NULL), OK);
    assert_int_equal(router_open(&router, "link-state", &topology, NULL, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "14400 nodes take more than 1 GiB"));
    topology_fini(&topology);
}

TEST_MAIN(TEST(shares_of_each_pair_agree_with_direct_computation),
          TEST(every_packet_arrives_by_a_shortest_path),
          TEST(a_disconnected_or_too_large_network_is_refused))
