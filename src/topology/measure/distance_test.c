/* distance: compared with a plain search from every node, and with closed forms. */
#include "topology/measure/distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

/* Random cables, parallel ones included; 0 to `servers` servers per node. */
static void random_topology(struct topology *topology, uint32_t nodes, uint32_t links,
                            uint32_t servers, struct rng *rng)
{
    struct link *list = array_new(links, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; i < links && nodes > 1; i++) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a != b)
            list[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, false, nodes, list, count, NULL), OK);
    for (uint32_t v = 0; v < nodes; v++)
        topology->sites[v].servers = (uint32_t)rng_below(rng, servers + 1);
    topology_count_servers(topology);
    free(list);
}

/* The plain way: one queue, one source. */
static void plain_search(const struct graph *graph, uint32_t from, uint32_t *distance,
                         uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    memset(distance, 0xff, graph->node_count * sizeof *distance);
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            if (distance[graph->to[slot]] == UINT32_MAX) {
                distance[graph->to[slot]] = distance[v] + 1;
                queue[tail++] = graph->to[slot];
            }
    }
}

static void assert_tally(const struct distance_tally *tally, const struct topology *topology)
{
    uint32_t nodes = topology->graph.node_count, longest = 0;
    uint32_t *distance = array_new(nodes, sizeof *distance);
    uint32_t *queue = array_new(nodes, sizeof *queue);
    uint64_t *pairs = array_new(nodes + 1, sizeof *pairs);
    uint64_t *servers = array_new(nodes + 1, sizeof *servers);
    uint64_t apart = 0, servers_apart = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        uint64_t mine = topology->sites[v].servers;
        plain_search(&topology->graph, v, distance, queue);
        for (uint32_t w = 0; w < nodes; w++) {
            uint64_t weight = mine * (topology->sites[w].servers - (v == w));
            weight = v == w && mine == 0 ? 0 : weight;
            if (distance[w] == UINT32_MAX) {
                apart++;
                servers_apart += weight;
                continue;
            }
            pairs[distance[w]] += v != w;
            servers[distance[w]] += weight;
            longest = distance[w] > longest ? distance[w] : longest;
        }
    }
    assert_int_equal(tally->length, longest + 1);
    assert_int_equal(distance_diameter(tally), longest);
    for (uint32_t d = 0; d <= longest; d++) {
        assert_int_equal(tally->nodes[d], pairs[d]);
        assert_int_equal(tally->servers[d], servers[d]);
    }
    assert_int_equal(tally->nodes_apart, apart);
    assert_int_equal(tally->servers_apart, servers_apart);
    free(distance);
    free(queue);
    free(pairs);
    free(servers);
}

static void add_range(struct distance_tally *tally, const struct topology *topology, uint32_t first,
                      uint32_t count)
{
    assert_int_equal(distance_tally_add(tally, topology, first, count, NULL), OK);
}

/* Sparse graphs are disconnected and searched by push, dense ones by pull. */
static void tallies_agree_with_a_plain_search(void **state)
{
    const uint32_t sizes[] = {1, 2, 63, 64, 65, 511, 512, 513, 700};
    const uint32_t most_servers[] = {0, 1, 40};
    const uint64_t seed = 3;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t degree = 1; degree <= 16; degree *= 2) {
            struct topology topology;
            struct distance_tally tally = {0};
            random_topology(&topology, sizes[i], sizes[i] * degree / 2, most_servers[degree % 3],
                            &rng);
            add_range(&tally, &topology, 0, sizes[i]);
            assert_tally(&tally, &topology);
            distance_tally_fini(&tally);
            topology_fini(&topology);
        }
}

static void ranges_and_merging_give_the_same_sums(void **state)
{
    const uint32_t cuts[] = {0, 1, 64, 64, 600, 1100, 1200};
    struct rng rng = rng_make(4, 0);
    struct topology topology;
    struct distance_tally whole = {0}, sum = {0};
    random_topology(&topology, 1200, 1500, 5, &rng);
    add_range(&whole, &topology, 0, 1200);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
        struct distance_tally part = {0};
        add_range(&part, &topology, cuts[i], cuts[i + 1] - cuts[i]);
        assert_int_equal(distance_tally_merge(&sum, &part, NULL), OK);
        distance_tally_fini(&part);
    }
    assert_int_equal(sum.length, whole.length);
    assert_memory_equal(sum.nodes, whole.nodes, whole.length * sizeof *whole.nodes);
    assert_memory_equal(sum.servers, whole.servers, whole.length * sizeof *whole.servers);
    assert_int_equal(sum.nodes_apart, whole.nodes_apart);
    assert_int_equal(sum.servers_apart, whole.servers_apart);
    distance_tally_fini(&whole);
    distance_tally_fini(&sum);
    topology_fini(&topology);
}

/* A ring of k has mean distance k/4 to all nodes if k is even, (k - 1/k)/4 if it is odd; the axes
 * add up, and excluding the node itself scales by n/(n-1). */
static void tori_have_their_closed_form(void **state)
{
    const char *const specs[] = {"torus:1x2x7", "torus:5x5x5", "torus:16x16", "torus:8x9x10"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        struct distance_tally tally = {0};
        assert_int_equal(topology_build(&topology, specs[i], NULL), OK);
        double nodes = topology.graph.node_count, mean = 0;
        uint32_t diameter = 0;
        for (uint32_t axis = 0; axis < topology.axis_count; axis++) {
            double k = topology.axis_size[axis];
            mean += topology.axis_size[axis] % 2 ? (k - 1 / k) / 4 : k / 4;
            diameter += topology.axis_size[axis] / 2;
        }
        add_range(&tally, &topology, 0, topology.graph.node_count);
        assert_true(fabs(distance_mean(&tally) - mean * nodes / (nodes - 1)) < 1e-12);
        assert_true(distance_server_mean(&tally, &topology) == distance_mean(&tally));
        assert_int_equal(distance_diameter(&tally), diameter);
        assert_int_equal(distance_server_diameter(&tally, &topology), diameter);
        distance_tally_fini(&tally);
        topology_fini(&topology);
    }
}

static void servers_of_one_switch_are_two_cables_apart(void **state)
{
    const struct link link = {0, 1, PORT_ANY, PORT_ANY};
    struct topology topology;
    struct distance_tally tally = {0};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 2, &link, 1, NULL), OK);
    topology.sites[0].servers = 3;
    topology_count_servers(&topology);
    add_range(&tally, &topology, 0, 2);
    assert_int_equal(tally.servers[0], 6);
    assert_true(distance_server_mean(&tally, &topology) == 2);
    assert_int_equal(distance_server_diameter(&tally, &topology), 2);
    assert_true(distance_mean(&tally) == 1);
    distance_tally_fini(&tally);
    topology_fini(&topology);
}

/* If one source is enough, its tally times the number of nodes is the whole tally. */
static void one_source_is_enough_in_a_symmetric_network(void **state)
{
    static const struct {
        const char *spec;
        bool alike;
    } cases[] = {
        {"torus:3x4x5", true},      {"torus:7", true},        {"torus:1x2x3", true},
        {"novacube:6x6", true},     {"novacube:4x6x2", true}, {"novacube:8x1", true},
        {"novacube:5x5", false},    {"novacube:4x5", false},  {"jellyfish:n=20,degree=4", false},
        {"swdc-torus2d:4x4", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology;
        struct distance_tally tally = {0};
        assert_int_equal(topology_build(&topology, cases[i].spec, NULL), OK);
        uint32_t nodes = topology.graph.node_count, sources = distance_sources(&topology);
        assert_int_equal(sources, cases[i].alike ? 1 : nodes);
        add_range(&tally, &topology, 0, sources);
        distance_tally_multiply(&tally, nodes / sources);
        assert_tally(&tally, &topology);
        distance_tally_fini(&tally);
        topology_fini(&topology);
    }
}

static void an_empty_network_has_no_mean(void **state)
{
    for (uint32_t nodes = 0; nodes < 2; nodes++) {
        struct topology topology;
        struct distance_tally tally = {0};
        assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, nodes, NULL, 0, NULL), OK);
        add_range(&tally, &topology, 0, nodes);
        assert_true(isnan(distance_mean(&tally)));
        assert_true(isnan(distance_server_mean(&tally, &topology)));
        assert_int_equal(distance_diameter(&tally), 0);
        assert_int_equal(distance_server_diameter(&tally, &topology), 0);
        assert_int_equal(tally.nodes_apart, 0);
        distance_tally_fini(&tally);
        topology_fini(&topology);
    }
}

TEST_MAIN(TEST(tallies_agree_with_a_plain_search), TEST(ranges_and_merging_give_the_same_sums),
          TEST(tori_have_their_closed_form), TEST(servers_of_one_switch_are_two_cables_apart),
          TEST(one_source_is_enough_in_a_symmetric_network), TEST(an_empty_network_has_no_mean))
