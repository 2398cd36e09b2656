#include "topology/generate/jellyfish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "topology/connected_test.h"

static void build(struct topology *topology, const char *spec)
{
    struct why why = {""};
    if (topology_build(topology, spec, &why))
        fail_msg("%s", why.text);
    topology_check(topology);
    assert_int_equal(topology->kind, TOPOLOGY_JELLYFISH);
}

static void refuse(const char *spec, const char *reason)
{
    struct topology topology;
    struct why why = {""};
    assert_int_equal(topology_build(&topology, spec, &why), ERR_USAGE);
    if (strncmp(why.text, spec, strlen(spec)) != 0 || !strstr(why.text, reason))
        fail_msg("'%s' does not say '%s'", why.text, reason);
}

static void assert_simple(const struct graph *graph)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        for (uint32_t slot = graph->first[v] + 1; slot < graph->first[v + 1]; slot++)
            assert_true(graph->to[slot - 1] < graph->to[slot]); /* ordered by neighbour */
}

/* Checks what every Jellyfish guarantees, switched or not. */
static void assert_jellyfish(const struct topology *topology)
{
    uint64_t spare = 0;
    assert_simple(&topology->graph);
    assert_true(test_connected(&topology->graph));
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        spare += topology_free_ports(topology, v);
    assert_true(spare <= (topology->direct ? 0 : 1));
}

static void every_possible_small_network_is_built(void **state)
{
    for (uint32_t n = 1; n <= 12; n++) {
        for (uint32_t degree = 0; degree <= n + 1; degree++) {
            bool can = degree < n && n * degree % 2 == 0 && n * degree / 2 >= n - 1;
            for (uint32_t seed = 0; seed < 8; seed++) {
                struct topology topology;
                char spec[64];
                snprintf(spec, sizeof spec, "jellyfish:n=%u,degree=%u,seed=%u", n, degree, seed);
                if (!can) {
                    refuse(spec, "");
                    continue;
                }
                build(&topology, spec);
                assert_jellyfish(&topology);
                assert_true(topology.direct);
                assert_int_equal(topology.server_count, n);
                for (uint32_t v = 0; v < n; v++)
                    assert_int_equal(graph_degree(&topology.graph, v), degree);
                topology_fini(&topology);
            }
        }
    }
}

static void dense_networks_use_every_pair(void **state)
{
    const struct {
        const char *spec;
        uint32_t links;
    } cases[] = {{"jellyfish:n=150,degree=149", 150 * 149 / 2},
                 {"jellyfish:n=150,degree=148", 150 * 148 / 2},
                 {"jellyfish:n=151,degree=140", 151 * 140 / 2},
                 {"jellyfish:servers=300,switches=100,ports=102", (10200 - 300) / 2},
                 {"jellyfish:servers=504,switches=101,ports=104", (10504 - 504) / 2},
                 {"jellyfish:servers=505,switches=101,ports=104", (10504 - 505) / 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology;
        build(&topology, cases[i].spec);
        assert_jellyfish(&topology);
        assert_int_equal(topology.graph.link_count, cases[i].links);
        topology_fini(&topology);
    }
}

static void sparse_networks_are_connected(void **state)
{
    const char *specs[] = {
        "jellyfish:n=5000,degree=2", "jellyfish:n=3000,degree=3",
        "jellyfish:servers=4002,switches=2000,ports=4", /* trees with a few rings */
        "jellyfish:servers=2002,ports=1000x2+1000x4", "jellyfish:servers=0,ports=1000x1+1000x3"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        build(&topology, specs[i]);
        assert_jellyfish(&topology);
        topology_fini(&topology);
    }
}

/* The free port must not be the only port of a switch: [1, 3, 3, 3, 3] could leave a complete graph
 * of four switches and an isolated switch. */
static void an_odd_port_never_isolates_a_switch(void **state)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct topology topology;
        char spec[64];
        snprintf(spec, sizeof spec, "jellyfish:servers=0,ports=1x1+4x3,seed=%u", seed);
        build(&topology, spec);
        assert_jellyfish(&topology);
        assert_int_equal(topology.graph.link_count, 6);
        topology_fini(&topology);
    }
}

static void servers_are_spread_evenly(void **state)
{
    struct topology topology;
    build(&topology, "jellyfish:servers=686,switches=245,ports=14");
    assert_jellyfish(&topology);
    assert_false(topology.direct);
    assert_int_equal(topology.server_count, 686);
    assert_int_equal(topology_switch_count(&topology), 245);
    for (uint32_t i = 0; i < 245; i++) {
        assert_int_equal(topology.sites[i].servers, (i + 1) * 686 / 245 - i * 686 / 245);
        assert_int_equal(topology.sites[i].ports, 14);
    }
    topology_fini(&topology);
    build(&topology, "jellyfish:servers=103,switches=20,ports=12,bare=3");
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(topology.sites[i].servers, i < 17 ? (i + 1) * 103 / 17 - i * 103 / 17 : 0);
    topology_fini(&topology);
}

/* Random equipment: if the network is built, everything in the header's comment must hold. */
static void mixed_sizes_share_the_servers_evenly(void **state)
{
    struct rng rng = rng_make(21, 0);
    uint32_t built = 0;
    for (int round = 0; round < 400; round++) {
        uint32_t small = 1 + (uint32_t)rng_below(&rng, 20), big = 1 + (uint32_t)rng_below(&rng, 20);
        uint32_t ports = 1 + (uint32_t)rng_below(&rng, 10),
                 more = 4 + (uint32_t)rng_below(&rng, 14);
        uint32_t bare = (uint32_t)rng_below(&rng, 4), nodes = small + big;
        uint32_t servers = (uint32_t)rng_below(&rng, small * ports + big * more);
        struct topology topology;
        char spec[96];
        snprintf(spec, sizeof spec, "jellyfish:servers=%u,ports=%ux%u+%ux%u,bare=%u,seed=%d",
                 servers, small, ports, big, more, bare, round);
        if (topology_build(&topology, spec, NULL))
            continue; /* errors have tests of their own */
        built++;
        topology_check(&topology);
        assert_jellyfish(&topology);
        assert_int_equal(topology.server_count, servers);
        for (uint32_t u = 0; u < nodes; u++) {
            const struct site *site = &topology.sites[u];
            assert_int_equal(site->ports, u < small ? ports : more);
            assert_true(u < nodes - bare || site->servers == 0);
            assert_true(site->servers < site->ports);
            /* No switch has two servers more than another that has room. */
            for (uint32_t v = 0; v < nodes - bare; v++)
                assert_true(site->servers <= topology.sites[v].servers + 1 ||
                            topology.sites[v].servers == topology.sites[v].ports - 1);
        }
        topology_fini(&topology);
    }
    assert_true(built > 100);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Shares in hundredths: a factor of ten thousand keeps all sums whole. */
static void verify_shares(const struct topology *topology, uint32_t containers, uint32_t percent)
{
    uint64_t ports[64] = {0}, local[64] = {0}, all_ports = 0, all_local = 0;
    uint32_t size[64] = {0};
    const struct graph *graph = &topology->graph;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        const struct site *site = &topology->sites[v];
        uint32_t links = site->ports - (topology->direct ? 0 : site->servers), at_home = 0;
        assert_true(site->group < containers);
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            at_home += topology->sites[graph->to[slot]].group == site->group;
        size[site->group]++;
        ports[site->group] += links;
        local[site->group] += at_home;
        all_ports += links;
        all_local += at_home;
        /* The local links of a switch are within one port of its part of the container's local
         * links, which are within one pair of ports of the exact share. */
        assert_true(difference(100ull * at_home, (uint64_t)percent * links) <= 300);
    }
    assert_true(difference(100 * all_local, percent * all_ports) <= 100);
    for (uint32_t c = 0; c < containers; c++) {
        assert_true(difference(size[c], graph->node_count / containers) <= 1);
        assert_true(difference(100 * local[c], percent * ports[c]) < 200);
    }
}

static void containers_keep_their_local_share(void **state)
{
    struct rng rng = rng_make(22, 0);
    uint32_t built = 0;
    for (int round = 0; round < 300; round++) {
        uint32_t containers = 2 + (uint32_t)rng_below(&rng, 10);
        uint32_t nodes = containers * (2 + (uint32_t)rng_below(&rng, 10)) + round % 3;
        uint32_t ports = 3 + (uint32_t)rng_below(&rng, 14),
                 percent = (uint32_t)rng_below(&rng, 100);
        struct topology topology;
        char spec[128];
        if (round % 2)
            snprintf(spec, sizeof spec,
                     "jellyfish:n=%u,degree=%u,containers=%u,local=0.%02u,seed=%d", nodes, ports,
                     containers, percent, round);
        else
            snprintf(spec, sizeof spec,
                     "jellyfish:servers=%u,ports=%ux%u+%ux%u,containers=%u,local=0.%02u,seed=%d",
                     nodes + (uint32_t)rng_below(&rng, nodes), nodes - nodes / 3, ports, nodes / 3,
                     ports + 4, containers, percent, round);
        if (topology_build(&topology, spec, NULL))
            continue;
        built++;
        topology_check(&topology);
        assert_jellyfish(&topology);
        verify_shares(&topology, containers, percent);
        topology_fini(&topology);
    }
    assert_true(built > 100);
}

static void kinds_are_dealt_to_all_containers(void **state)
{
    struct topology topology;
    build(&topology, "jellyfish:servers=90,ports=20x12+11x16,bare=5,containers=5,local=0.2,seed=2");
    uint32_t count[5][3] = {{0}};
    for (uint32_t v = 0; v < 31; v++)
        count[topology.sites[v].group][v < 20 ? 0 : v < 26 ? 1 : 2]++;
    for (int c = 0; c < 5; c++) {
        assert_int_equal(count[c][0], 4);
        assert_true(count[c][1] == 1 || count[c][1] == 2);
        assert_int_equal(count[c][2], 1);
    }
    topology_fini(&topology);
}

static void one_container_is_a_plain_network(void **state)
{
    struct topology topology;
    build(&topology, "jellyfish:servers=21,switches=9,ports=6,containers=1,local=1.0");
    assert_jellyfish(&topology);
    assert_string_equal(topology.spec,
                        "jellyfish:servers=21,switches=9,ports=6,containers=1,local=1,seed=1");
    topology_fini(&topology);
}

static void the_canonical_spec_builds_the_same_network(void **state)
{
    const struct {
        const char *given, *canonical;
    } cases[] = {
        {"jellyfish:degree=6,n=64", "jellyfish:n=64,degree=6,seed=1"},
        {"jellyfish:ports=14,servers=686,switches=245,seed=018446744073709551615",
         "jellyfish:servers=686,switches=245,ports=14,seed=18446744073709551615"},
        {"jellyfish:servers=60,ports=5x12+5x12+5x14,switches=15,bare=2",
         "jellyfish:servers=60,ports=10x12+5x14,bare=2,seed=1"},
        {"jellyfish:servers=40,ports=20x8,bare=0,seed=3",
         "jellyfish:servers=40,switches=20,ports=8,seed=3"},
        {"jellyfish:n=40,degree=9,local=0.600,containers=4",
         "jellyfish:n=40,degree=9,containers=4,local=0.6,seed=1"},
        {"jellyfish:n=40,degree=9,local=0.050,containers=4",
         "jellyfish:n=40,degree=9,containers=4,local=0.05,seed=1"},
        {"jellyfish:n=40,degree=9,local=0,containers=4",
         "jellyfish:n=40,degree=9,containers=4,local=0,seed=1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology one, other;
        build(&one, cases[i].given);
        assert_string_equal(one.spec, cases[i].canonical);
        build(&other, one.spec);
        assert_true(graph_equal(&one.graph, &other.graph));
        assert_memory_equal(one.sites, other.sites, one.graph.node_count * sizeof *one.sites);
        topology_fini(&one);
        topology_fini(&other);
    }
}

static uint64_t hash(const char *spec)
{
    struct topology topology;
    uint64_t sum = 14695981039346656037u; /* FNV-1a, over words */
    build(&topology, spec);
    for (uint32_t e = 0; e < topology.graph.link_count; e++) {
        const struct link *link = &topology.graph.links[e];
        const uint32_t words[] = {link->a, link->b, link->a_port, link->b_port};
        for (int i = 0; i < 4; i++)
            sum = (sum ^ words[i]) * 1099511628211u;
    }
    topology_fini(&topology);
    return sum;
}

/* Changing these numbers changes every graph that anyone has recorded by its seed. */
static void the_graph_of_a_seed_never_changes(void **state)
{
    const struct {
        const char *spec;
        uint64_t hash;
    } cases[] = {
        {"jellyfish:n=64,degree=6", 0x0761ed8a4014d919},
        {"jellyfish:n=500,degree=2,seed=7", 0x3196aa738ff8b3a7},
        {"jellyfish:n=10,degree=8", 0x666b0c3c1ea8dee5},
        {"jellyfish:servers=686,switches=245,ports=14", 0x4ec1a2f064b64fa9},
        {"jellyfish:servers=60,ports=10x12+5x14,bare=2", 0xcd6511bf1610f1f0},
        {"jellyfish:servers=80,switches=40,ports=12,containers=8,local=0.4", 0x8eb782b9910f6f01},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t now = hash(cases[i].spec);
        if (now != cases[i].hash)
            fail_msg("%s: 0x%016llx", cases[i].spec, (unsigned long long)now);
    }
}

static void another_seed_is_another_graph(void **state)
{
    uint64_t seen[20];
    for (uint32_t seed = 0; seed < 20; seed++) {
        char spec[64];
        snprintf(spec, sizeof spec, "jellyfish:n=64,degree=6,seed=%u", seed);
        seen[seed] = hash(spec);
        for (uint32_t i = 0; i < seed; i++)
            assert_true(seen[i] != seen[seed]);
    }
}

static bool has_triangle(const struct graph *graph)
{
    for (uint32_t a = 0; a < graph->node_count; a++)
        for (uint32_t b = a + 1; b < graph->node_count; b++)
            for (uint32_t c = b + 1; c < graph->node_count; c++)
                if (graph_adjacent(graph, a, b) && graph_adjacent(graph, b, c) &&
                    graph_adjacent(graph, a, c))
                    return true;
    return false;
}

/* Of the 70 cubic graphs on six labelled nodes, 10 are K(3,3); the others are prisms, which have
 * triangles. The construction is close to uniform, but not exactly. All 15 pairs must be links
 * equally often: 3 of 5 times. */
static void small_cubic_graphs_are_nearly_uniform(void **state)
{
    enum { ROUNDS = 4000 };
    uint32_t bipartite = 0, pairs[6][6] = {{0}};
    for (uint32_t seed = 0; seed < ROUNDS; seed++) {
        struct topology topology;
        char spec[64];
        snprintf(spec, sizeof spec, "jellyfish:n=6,degree=3,seed=%u", seed);
        build(&topology, spec);
        bipartite += !has_triangle(&topology.graph);
        for (uint32_t e = 0; e < topology.graph.link_count; e++)
            pairs[topology.graph.links[e].a][topology.graph.links[e].b]++;
        topology_fini(&topology);
    }
    double chi_square = 0, expected = ROUNDS * 3 / 5.0;
    for (int a = 0; a < 6; a++)
        for (int b = a + 1; b < 6; b++)
            chi_square += (pairs[a][b] - expected) * (pairs[a][b] - expected) / expected;
    print_message("# K(3,3): %u of %d, chi-square %g\n", bipartite, ROUNDS, chi_square);
    assert_true(bipartite > ROUNDS * 10 / 100 && bipartite < ROUNDS * 17 / 100);
    assert_true(chi_square < 30); /* beyond the 99.9th percentile even of 9 degrees of freedom */
}

static void impossible_requests_are_refused(void **state)
{
    refuse("jellyfish:n=5,degree=3", "n times degree is odd");
    refuse("jellyfish:n=4,degree=4", "degree must be less than n");
    refuse("jellyfish:n=10,degree=1", "5 links cannot connect 10 nodes");
    refuse("jellyfish:n=2,degree=0", "0 links cannot connect 2 nodes");
    refuse("jellyfish:n=0,degree=0", "n must be a whole number from 1");
    refuse("jellyfish:n=1000000000000,degree=4", "n must be a whole number from 1");
    refuse("jellyfish:n=100000000,degree=99", "links, the maximum");
    refuse("jellyfish:n=10", "degree is missing");
    refuse("jellyfish:degree=3", "n is missing");
    refuse("jellyfish:n=10,degree=3,servers=4", "cannot be combined with servers");
    refuse("jellyfish:servers=10,switches=5", "ports is missing");
    refuse("jellyfish:servers=10,ports=5", "switches is missing");
    refuse("jellyfish:switches=10,ports=5", "servers is missing");
    refuse("jellyfish:servers=101,switches=10,ports=10", "do not fit on 100 ports");
    refuse("jellyfish:servers=91,switches=10,ports=10", "without a port for a link");
    refuse("jellyfish:servers=90,switches=10,ports=10", "5 links cannot connect 10 switches");
    refuse("jellyfish:servers=0,switches=10,ports=10", "only 9 others");
    refuse("jellyfish:servers=3,switches=1,ports=4", "only 0 others");
    refuse("jellyfish:servers=9,switches=10,ports=10,bare=10", "all switches are bare");
    refuse("jellyfish:servers=9,switches=10,ports=10,bare=11", "from 0 to 10");
    refuse("jellyfish:servers=0,ports=2x2+2x3,switches=5", "ports lists 4");
    refuse("jellyfish:servers=0,ports=4x1+3x6", "cannot all be used without parallel links");
    refuse("jellyfish:servers=0,ports=4x", "10x24+5x48");
    refuse("jellyfish:servers=0,ports=0x4", "10x24+5x48");
    refuse("jellyfish:servers=0,ports=4x4+", "10x24+5x48");
    refuse("jellyfish:servers=0,ports=4x4+4", "10x24+5x48");
    refuse("jellyfish:servers=0,ports=99999999x4+99999999x5", "switches, the maximum");
    refuse("jellyfish:n=10,degree=3,seed=18446744073709551616", "seed must be");
    refuse("jellyfish:n=10,degree=3,seed=-1", "seed must be");
}

static void impossible_containers_are_refused(void **state)
{
    refuse("jellyfish:n=40,degree=9,containers=4", "local is missing");
    refuse("jellyfish:n=40,degree=9,local=0.5", "containers is missing");
    refuse("jellyfish:n=40,degree=9,local=0.5,containers=0", "containers must be");
    refuse("jellyfish:n=40,degree=9,local=0.5,containers=41", "more containers than");
    refuse("jellyfish:n=40,degree=9,local=0.5,containers=1", "local must be 1");
    refuse("jellyfish:n=40,degree=9,local=1,containers=4", "cannot connect 4 containers");
    refuse("jellyfish:n=40,degree=9,local=0.9,containers=10", "container 0 is too small");
    refuse("jellyfish:n=6,degree=5,local=0.1,containers=3", "only 4 switches");
    refuse("jellyfish:n=5,degree=4,local=0.2,containers=2", "which have only");
    for (size_t i = 0; i < 7; i++) {
        const char *shares[] = {"-0.5", "1.1", "0.1234567891", "half", ".5", "0.", "1e-1"};
        char spec[96];
        snprintf(spec, sizeof spec, "jellyfish:n=40,degree=9,containers=4,local=%s", shares[i]);
        refuse(spec, "local must be a number from 0 to 1");
    }
}

TEST_MAIN(TEST(every_possible_small_network_is_built), TEST(dense_networks_use_every_pair),
          TEST(sparse_networks_are_connected), TEST(an_odd_port_never_isolates_a_switch),
          TEST(servers_are_spread_evenly), TEST(mixed_sizes_share_the_servers_evenly),
          TEST(containers_keep_their_local_share), TEST(kinds_are_dealt_to_all_containers),
          TEST(one_container_is_a_plain_network), TEST(the_canonical_spec_builds_the_same_network),
          TEST(the_graph_of_a_seed_never_changes), TEST(another_seed_is_another_graph),
          TEST(small_cubic_graphs_are_nearly_uniform), TEST(impossible_requests_are_refused),
          TEST(impossible_containers_are_refused))
