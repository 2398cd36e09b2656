#include "flow/matching/longest.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"
#include "flow/matching/hops.h"
#include "flow/matching/longest_impl.h"
#include "topology/build_test.h"

enum { SEED = 8, NODES_MAX = 512 };

static const struct longest_limits whole = {.whole = 4096, .group = 512};

static void row_told(void *context, uint32_t node, const struct hops_set *fresh, uint32_t distance)
{
    ((int64_t *)context)[node] = distance;
}

/* hops[v] from a node, or -1 if there is no path. */
static void row(const struct topology *topology, uint32_t from, int64_t *hops)
{
    struct hops search;
    assert_int_equal(hops_init(&search, &topology->graph, NULL), OK);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        hops[v] = -1;
    hops_search(&search, &from, 1, row_told, hops);
    hops_fini(&search);
}

/* Checks that the traffic is a permutation of servers of the claimed length. */
static void check(const struct topology *topology, const struct traffic *traffic,
                  const struct longest_matching *found)
{
    double sent[NODES_MAX] = {0}, received[NODES_MAX] = {0}, all = traffic->local;
    uint64_t length = 0;
    int64_t hops[NODES_MAX];
    assert_true(topology->graph.node_count <= NODES_MAX);
    for (size_t i = 0; i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        if (i == 0 || demand[-1].from != demand->from)
            row(topology, demand->from, hops);
        assert_true(hops[demand->to] > 0);
        length += (uint64_t)(demand->amount * (double)hops[demand->to]);
        sent[demand->from] += demand->amount;
        received[demand->to] += demand->amount;
        all += demand->amount;
    }
    assert_within(all, topology->server_count, 0);
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        assert_true(sent[v] == received[v] && sent[v] <= topology->sites[v].servers);
    }
    assert_int_equal(length, found->length);
    assert_string_equal(traffic->name, "longest-matching");
}

static struct longest_matching solved(const struct topology *topology, struct longest_limits limits)
{
    struct traffic traffic;
    struct longest_matching found;
    struct why why = {""};
    if (longest_matching_within(&traffic, topology, limits, &found, &why))
        fail_msg("%s", why.text);
    check(topology, &traffic, &found);
    traffic_fini(&traffic);
    return found;
}

struct brute {
    uint32_t count;
    uint32_t node[8]; /* the node of each server */
    int64_t hops[8][8];
};

static int64_t try_all(const struct brute *brute, uint32_t server, uint32_t used)
{
    int64_t best = server == brute->count ? 0 : INT64_MIN;
    for (uint32_t to = 0; server < brute->count && to < brute->count; to++) {
        int64_t hops = brute->hops[brute->node[server]][brute->node[to]];
        if (used >> to & 1 || hops < 0)
            continue;
        int64_t rest = try_all(brute, server + 1, used | 1u << to);
        if (rest != INT64_MIN && rest + hops > best)
            best = rest + hops;
    }
    return best;
}

/* Up to 8 random nodes and 8 servers, connected or not. */
static struct topology random_topology(struct rng *rng)
{
    uint32_t nodes = 2 + (uint32_t)rng_below(rng, 7), count = (uint32_t)rng_below(rng, 10);
    struct link links[10];
    struct topology topology;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = (uint32_t)rng_below(rng, nodes);
        uint32_t b = (a + 1 + (uint32_t)rng_below(rng, nodes - 1)) % nodes;
        links[i] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, nodes, links, count, NULL),
                     OK);
    uint32_t servers = 2 + (uint32_t)rng_below(rng, 7), most = 1 + (uint32_t)rng_below(rng, 2);
    for (uint32_t left = servers / most * most; left > 0; left -= most)
        topology.sites[rng_below(rng, nodes)].servers += most;
    topology_count_servers(&topology);
    return topology;
}

static void small_networks_agree_with_trying_all(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    uint32_t proved = 0;
    print_message("# seed %d\n", SEED);
    for (uint32_t round = 0; round < 300; round++) {
        struct topology topology = random_topology(&rng);
        struct brute brute = {0};
        if (topology.server_count < 2) {
            topology_fini(&topology);
            continue;
        }
        for (uint32_t v = 0; v < topology.graph.node_count; v++) {
            row(&topology, v, brute.hops[v]);
            for (uint32_t i = 0; i < topology.sites[v].servers; i++)
                brute.node[brute.count++] = v;
        }
        uint64_t wanted = (uint64_t)try_all(&brute, 0, 0);
        struct longest_matching found = solved(&topology, whole);
        assert_true(found.exact);
        assert_int_equal(found.length, wanted);

        struct longest_limits few = {.whole = 0, .group = 3};
        found = solved(&topology, few);
        assert_true(found.length <= wanted);
        assert_true(!found.exact || found.length == wanted);
        proved += found.exact;
        topology_fini(&topology);
    }
    assert_true(proved > 30);
}

/* Even sizes: every node to its antipode. */
static void every_node_of_a_torus_sends_to_its_antipode(void **state)
{
    static const struct {
        const char *spec;
        uint64_t length;
    } cases[] = {
        {"torus:8x8", 64 * 8},    {"torus:6x4x2", 48 * 6},  {"torus:5x4", 20 * 4},
        {"torus:7", 7 * 3},       {"torus:2", 2},           {"torus:8x8x8", 512 * 12},
        {"novacube:4x4", 16 * 2}, {"novacube:8x8", 64 * 4}, {"torus:3x3x3", 27 * 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology = build_test(cases[i].spec);
        struct longest_limits limits = {.whole = 4096, .group = 512, .symmetry = true};
        struct longest_matching found = solved(&topology, limits);
        assert_true(found.exact);
        assert_int_equal(found.length, cases[i].length);
        found = solved(&topology, whole); /* the same without known symmetry */
        assert_true(found.exact);
        assert_int_equal(found.length, cases[i].length);
        topology_fini(&topology);
    }
}

/* Servers in different pods of a fat-tree are all 4 links between switches apart. */
static void servers_of_one_switch_are_treated_as_one_unit(void **state)
{
    struct topology topology = build_test("fattree:k=8");
    struct traffic traffic;
    struct longest_matching found;
    assert_int_equal(longest_matching(&traffic, &topology, &found, NULL), OK);
    check(&topology, &traffic, &found);
    assert_true(found.exact);
    assert_int_equal(found.length, 128 * 4);
    assert_int_equal(traffic.count, 32); /* one receiving switch per edge switch */
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void groups_are_nearly_optimal_on_random_graphs(void **state)
{
    struct topology topology = build_test("jellyfish:n=400,degree=5,seed=3");
    struct longest_limits limits = {.whole = 0, .group = 64};
    struct longest_matching best = solved(&topology, whole), found = solved(&topology, limits);
    assert_true(best.exact);
    assert_true(found.length <= best.length);
    assert_true((double)found.length > 0.97 * (double)best.length);
    topology_fini(&topology);
}

static void one_server_is_refused(void **state)
{
    struct topology topology = build_test("torus:1");
    struct traffic traffic;
    struct longest_matching found;
    struct why why = {""};
    assert_int_equal(longest_matching(&traffic, &topology, &found, &why), ERR_USAGE);
    assert_true(why.text[0]);
    topology_fini(&topology);
}

TEST_MAIN(TEST(small_networks_agree_with_trying_all),
          TEST(every_node_of_a_torus_sends_to_its_antipode),
          TEST(servers_of_one_switch_are_treated_as_one_unit),
          TEST(groups_are_nearly_optimal_on_random_graphs), TEST(one_server_is_refused))
