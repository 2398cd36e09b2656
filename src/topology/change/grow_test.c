#include "topology/change/grow.h"

#include <stdio.h>

#include "topology/change/replay_test.h"
#include "topology/connected_test.h"
#include "topology/format/format.h"

#define SEED 20261115

/* A switched network: every node has `servers` servers and as many ports as are used. */
static void switches_make(struct topology *topology, const struct graph *graph, uint32_t servers)
{
    assert_int_equal(topology_init(topology, TOPOLOGY_JELLYFISH, false, graph->node_count,
                                   graph->links, graph->link_count, NULL),
                     OK);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        topology->sites[v].servers = servers;
        topology->sites[v].ports = graph_degree(graph, v) + servers;
    }
    topology_count_servers(topology);
    strcpy(topology->spec, "a test's own");
}

/* Over ordered pairs, by a plain search from every node. */
static double mean_path(const struct graph *graph)
{
    uint32_t distance[64], queue[64], nodes = graph->node_count;
    uint64_t sum = 0;
    assert_true(nodes <= 64);
    for (uint32_t source = 0; source < nodes; source++) {
        uint32_t head = 0, tail = 0;
        memset(distance, 255, sizeof distance);
        distance[source] = 0;
        queue[tail++] = source;
        while (head < tail) {
            uint32_t v = queue[head++];
            sum += distance[v];
            for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
                if (distance[graph->to[slot]] == UINT32_MAX) {
                    distance[graph->to[slot]] = distance[v] + 1;
                    queue[tail++] = graph->to[slot];
                }
            }
        }
        assert_int_equal(tail, nodes);
    }
    return (double)sum / ((double)nodes * (nodes - 1));
}

static int link_by_ends(const void *left, const void *right)
{
    const struct link *one = left, *other = right;
    uint64_t x = (uint64_t)one->a << 32 | one->b, y = (uint64_t)other->a << 32 | other->b;
    return x < y ? -1 : x > y;
}

static void no_parallel_cables(const struct graph *graph)
{
    struct link *links = array_copy(graph->links, graph->link_count, sizeof *links);
    for (uint32_t e = 0; e < graph->link_count; e++)
        if (links[e].a > links[e].b)
            links[e] = (struct link){links[e].b, links[e].a, 0, 0};
    qsort(links, graph->link_count, sizeof *links, link_by_ends);
    for (uint32_t e = 1; e < graph->link_count; e++)
        assert_int_not_equal(link_by_ends(&links[e - 1], &links[e]), 0);
    free(links);
}

/* Grows once and checks every guarantee of the plan. */
static void grow_checked(struct growth *growth, const struct topology *before,
                         const struct grow_order *order, uint32_t together_max)
{
    assert_int_equal(grow_topology(growth, before, order, NULL), OK);
    const struct topology *after = &growth->topology;
    uint32_t nodes = after->graph.node_count;
    topology_check(after);
    assert_int_equal(nodes, before->graph.node_count + order->count);
    assert_int_equal(growth->first, before->graph.node_count);
    assert_string_equal(after->spec, "");
    no_parallel_cables(&after->graph);

    uint32_t *limit = array_new(nodes, sizeof *limit);
    uint64_t added = 0, room = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t taken = after->direct ? 0 : after->sites[v].servers;
        limit[v] = after->sites[v].ports > taken ? after->sites[v].ports - taken
                                                 : graph_degree(&after->graph, v);
        if (v < growth->first) {
            assert_int_equal(after->sites[v].servers, before->sites[v].servers);
            assert_true(graph_degree(&after->graph, v) >= graph_degree(&before->graph, v));
        } else {
            added += limit[v];
            room += limit[v] - graph_degree(&after->graph, v);
        }
    }
    assert_int_equal(growth->ports_added, added);
    assert_int_equal(growth->ports_free, room);
    assert_true(growth->plan.unplug_count <= added);
    assert_int_equal(growth->plan.apart_count, 0);
    assert_true(growth->plan.together_count <= together_max);

    struct replay replay;
    struct graph again;
    replay_init(&replay, nodes, limit, NULL, &before->graph, growth->plan.count);
    replay_run(&replay, &growth->plan);
    assert_int_equal(graph_make(&again, nodes, replay.cables, replay.count, NULL), OK);
    assert_true(graph_equal(&again, &after->graph));
    graph_fini(&again);
    replay_fini(&replay);
    free(limit);
}

/* One network from 20 to 60 switches, `batch` at a time. */
static void grow_to_sixty(struct topology *topology, uint32_t batch, uint32_t ports,
                          uint32_t servers, uint64_t seed)
{
    while (topology->graph.node_count < 60) {
        uint32_t left = 60 - topology->graph.node_count;
        struct grow_order order = {.count = batch < left ? batch : left,
                                   .ports = ports,
                                   .servers = servers,
                                   .seed = seed + topology->graph.node_count};
        struct growth growth;
        grow_checked(&growth, topology, &order, 0);
        growth_accept(&growth, topology);
    }
    assert_int_equal(topology->kind, TOPOLOGY_JELLYFISH);
}

/* Mean paths of networks of one degree. */
struct tally {
    double grown, built; /* sums */
    double grown_max, grown_min;
    uint32_t runs;
};

static void tally_add(struct tally *tally, double grown, double built)
{
    tally->grown += grown;
    tally->built += built;
    if (tally->runs == 0 || grown > tally->grown_max)
        tally->grown_max = grown;
    if (tally->runs == 0 || grown < tally->grown_min)
        tally->grown_min = grown;
    tally->runs++;
}

/* Grown networks are as good as those built at once: their mean path is at most 1 % longer on
 * average, and no single network is far off. */
static void tallies_judge(const struct tally *tallies, uint32_t count)
{
    double ratios = 0;
    uint32_t runs = 0;
    for (uint32_t degree = 0; degree < count; degree++) {
        const struct tally *tally = &tallies[degree];
        if (tally->runs == 0)
            continue;
        double built = tally->built / tally->runs, ratio = tally->grown / tally->built;
        printf("# degree %2u: %3u networks, mean path %.4f grown, %.4f built (%+.2f %%), "
               "single ones %+.2f to %+.2f %%\n",
               degree, tally->runs, tally->grown / tally->runs, built, 100 * (ratio - 1),
               100 * (tally->grown_min / built - 1), 100 * (tally->grown_max / built - 1));
        assert_true(ratio < 1.01 && ratio > 0.98);
        assert_true(tally->grown_max < 1.06 * built && tally->grown_min > 0.94 * built);
        ratios += tally->runs * ratio;
        runs += tally->runs;
    }
    printf("# all %u of equal ports: grown / built %.4f\n", runs, ratios / runs);
    assert_true(ratios / runs < 1.01 && ratios / runs > 0.99);
}

static void a_thousand_networks_grow_from_twenty_to_sixty_switches(void **state)
{
    static const uint32_t batches[] = {1, 1, 2, 3, 7, 20, 40};
    struct tally tallies[11] = {0};
    struct rng rng = rng_make(SEED, 0);
    printf("# seed %d\n", SEED);
    for (uint32_t run = 0; run < 1000; run++) {
        uint32_t degree = 3 + (uint32_t)rng_below(&rng, 8);
        uint32_t servers = (uint32_t)rng_below(&rng, 6);
        uint32_t batch = batches[rng_below(&rng, 7)];
        uint32_t ports = degree + servers, new_servers = servers;
        bool same = rng_below(&rng, 3) > 0;
        if (!same) {
            new_servers = (uint32_t)rng_below(&rng, 6);
            ports = new_servers + 2 + (uint32_t)rng_below(&rng, 12);
        }
        struct graph graph;
        struct topology topology;
        random_regular(&graph, 20, degree, &rng);
        switches_make(&topology, &graph, servers);
        graph_fini(&graph);
        grow_to_sixty(&topology, batch, ports, new_servers, SEED + run);
        assert_int_equal(topology.server_count, 20 * servers + 40 * new_servers);
        if (same) {
            random_regular(&graph, 60, degree, &rng);
            tally_add(&tallies[degree], mean_path(&topology.graph), mean_path(&graph));
            assert_int_equal(topology.graph.link_count, graph.link_count); /* no port is left */
            graph_fini(&graph);
        }
        topology_fini(&topology);
    }
    tallies_judge(tallies, 11);
}

static void the_cables_stay_in_the_ports_they_had(void **state)
{
    struct rng rng = rng_make(9, 0);
    struct graph graph;
    struct topology topology;
    struct growth growth;
    random_regular(&graph, 20, 6, &rng);
    switches_make(&topology, &graph, 4);
    struct grow_order order = {.count = 1, .ports = 10, .servers = 4, .seed = 1};
    grow_checked(&growth, &topology, &order, 0);
    assert_int_equal(growth.plan.unplug_count, 3);
    assert_int_equal(growth.plan.plug_count, 6);
    for (size_t i = 0; i < growth.plan.count; i += 3) {
        const struct rewire_action *actions = growth.plan.actions + i;
        assert_int_equal(actions[0].kind, REWIRE_UNPLUG);
        assert_int_equal(actions[1].cable.a, actions[0].cable.a);
        assert_int_equal(actions[1].cable.a_port, actions[0].cable.a_port);
        assert_int_equal(actions[2].cable.a, actions[0].cable.b);
        assert_int_equal(actions[2].cable.a_port, actions[0].cable.b_port);
    }
    growth_fini(&growth);
    topology_fini(&topology);
    graph_fini(&graph);
}

/* A seed always gives the same plan, another seed gives another one. */
static void a_seed_repeats_the_growth(void **state)
{
    struct rng rng = rng_make(9, 0);
    struct graph graph;
    struct topology topology;
    struct growth growths[3];
    random_regular(&graph, 20, 5, &rng);
    switches_make(&topology, &graph, 1);
    for (uint64_t i = 0; i < 3; i++) {
        struct grow_order order = {.count = 5, .ports = 6, .servers = 1, .seed = i / 2};
        grow_checked(&growths[i], &topology, &order, 0);
    }
    assert_true(graph_equal(&growths[0].topology.graph, &growths[1].topology.graph));
    assert_false(graph_equal(&growths[0].topology.graph, &growths[2].topology.graph));
    for (int i = 0; i < 3; i++)
        growth_fini(&growths[i]);
    topology_fini(&topology);
    graph_fini(&graph);
}

/* Every cable of a star or a path is a bridge. */
static void a_tree_grows_in_steps_of_three_actions(void **state)
{
    for (uint32_t shape = 0; shape < 2; shape++) {
        struct link links[9];
        struct topology topology;
        struct growth growth;
        for (uint32_t v = 0; v < 9; v++)
            links[v] = (struct link){shape ? v : 0, v + 1, PORT_ANY, PORT_ANY};
        assert_int_equal(topology_init(&topology, TOPOLOGY_TORUS, true, 10, links, 9, NULL), OK);
        topology.axis_count = 1;
        topology.axis_size[0] = 10;
        struct grow_order order = {.count = 1, .ports = 2, .servers = 1, .seed = 4};
        grow_checked(&growth, &topology, &order, 1);
        assert_int_equal(growth.plan.together_count, 1);
        assert_int_equal(growth.topology.kind, TOPOLOGY_OTHER);
        assert_int_equal(growth.topology.axis_count, 0);
        assert_int_equal(growth.topology.server_count, 11);
        growth_fini(&growth);
        order.count = 6;
        grow_checked(&growth, &topology, &order, 6);
        growth_fini(&growth);
        topology_fini(&topology);
    }
}

/* Four switches cannot give twenty cables to one more switch; later ones can. */
static void ports_without_a_partner_stay_free(void **state)
{
    struct rng rng = rng_make(2, 0);
    struct graph graph;
    struct topology topology;
    struct growth growth;
    random_regular(&graph, 4, 3, &rng);
    switches_make(&topology, &graph, 0);
    struct grow_order order = {.count = 1, .ports = 20, .servers = 0, .seed = 4};
    grow_checked(&growth, &topology, &order, 0);
    assert_int_equal(growth.ports_free, 16);
    growth_fini(&growth);
    order.count = 30;
    grow_checked(&growth, &topology, &order, 0);
    assert_true(growth.ports_free <= 20);
    growth_fini(&growth);
    topology_fini(&topology);
    graph_fini(&graph);
}

static void an_odd_port_is_joined_to_a_free_port(void **state)
{
    struct rng rng = rng_make(2, 0);
    struct graph graph;
    struct topology topology;
    struct growth growth;
    random_regular(&graph, 8, 3, &rng);
    switches_make(&topology, &graph, 0);
    topology.sites[5].ports = 4;
    struct grow_order order = {.count = 1, .ports = 1, .servers = 0, .seed = 4};
    grow_checked(&growth, &topology, &order, 0);
    assert_int_equal(growth.plan.plug_count, 1);
    assert_int_equal(growth.plan.unplug_count, 0);
    assert_true(graph_adjacent(&growth.topology.graph, 5, 8));
    growth_fini(&growth);
    topology.sites[5].ports = 3;
    struct why why;
    assert_int_equal(grow_topology(&growth, &topology, &order, &why), ERR_USAGE);
    assert_string_equal(
        why.text, "new node 8 cannot be connected: there is no cable to replace and no free port");
    topology_fini(&topology);
    graph_fini(&graph);
}

static void a_lone_switch_grows_into_a_network(void **state)
{
    struct topology topology;
    struct growth growth;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 1, NULL, 0, NULL), OK);
    topology.sites[0].ports = 4;
    struct grow_order order = {.count = 9, .ports = 4, .servers = 0, .seed = 4};
    grow_checked(&growth, &topology, &order, 9);
    assert_true(test_connected(&growth.topology.graph));
    growth_fini(&growth);
    topology_fini(&topology);
}

static void new_names_continue_the_old_ones(void **state)
{
    static const char *const old[] = {"rack-7", "x", "rack-4", "rack-5"};
    const struct link links[] = {
        {0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    struct growth growth;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 4, links, 3, NULL), OK);
    topology.names = array_new(4, sizeof *topology.names);
    for (int v = 0; v < 4; v++)
        topology.names[v] = strdup(old[v]);
    struct grow_order order = {.count = 2, .ports = 2, .servers = 1, .seed = 4};
    grow_checked(&growth, &topology, &order, 2);
    assert_string_equal(growth.topology.names[4], "rack-6");
    assert_string_equal(growth.topology.names[5], "rack-8");
    growth_fini(&growth);
    strcpy(topology.names[3], "hub");
    grow_checked(&growth, &topology, &order, 2);
    assert_string_equal(growth.topology.names[4], "hub-1");
    growth_fini(&growth);
    topology_fini(&topology);
}

static void the_majority_sets_the_defaults(void **state)
{
    struct rng rng = rng_make(2, 0);
    struct graph graph;
    struct topology topology;
    uint32_t ports, servers;
    random_regular(&graph, 8, 3, &rng);
    switches_make(&topology, &graph, 2);
    for (uint32_t v = 0; v < 3; v++)
        topology.sites[v] = (struct site){.servers = 1, .ports = 24};
    assert_int_equal(grow_majority(&topology, &ports, &servers, NULL), OK);
    assert_int_equal(ports, 5);
    assert_int_equal(servers, 2);
    topology_fini(&topology);
    graph_fini(&graph);
}

static void impossible_orders_are_refused(void **state)
{
    struct rng rng = rng_make(2, 0);
    struct graph graph;
    struct topology topology;
    struct growth growth;
    random_regular(&graph, 8, 3, &rng);
    switches_make(&topology, &graph, 2);
    static const struct grow_order orders[] = {
        {.count = 0, .ports = 5, .servers = 2},
        {.count = 1, .ports = 5, .servers = 6},
        {.count = 1, .ports = 5, .servers = 5},
        {.count = 4000000000u, .ports = 5, .servers = 2},
        {.count = 3, .ports = 4000000000u, .servers = 3999999000u},
        {.count = 3, .ports = 4000000000u, .servers = 0},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct why why = {""};
        assert_int_not_equal(grow_topology(&growth, &topology, &orders[i], &why), OK);
        assert_true(strlen(why.text) > 0);
    }
    topology_fini(&topology);
    graph_fini(&graph);
}

/* Names of the maximum length, one of which is cut within a character: the file of the grown
 * network can still be read. */
static void new_names_are_no_longer_than_files_allow(void **state)
{
    const struct grow_order order = {.count = 2, .ports = 2, .servers = 1, .seed = 1};
    struct topology topology, back;
    struct growth growth;
    struct text file = {0};
    struct why why = {""};
    assert_int_equal(topology_build(&topology, "torus:4", &why), OK);
    topology.names = array_new(4, sizeof *topology.names);
    for (int v = 0; v < 4; v++) {
        topology.names[v] = array_new(NODE_NAME_MAX + 1, 1);
        topology.names[v][0] = (char)('a' + v);
        topology.names[v][1] = 'x';
        for (int i = 2; i < NODE_NAME_MAX; i++)
            topology.names[v][i] = "\xc3\xa9"[i % 2];
    }
    assert_int_equal(grow_topology(&growth, &topology, &order, &why), OK);
    assert_int_equal(format_write(&file, FORMAT_JSON, &growth.topology, &why), OK);
    if (format_read(&back, FORMAT_JSON, "x", file.data, file.size, &why))
        fail_msg("%s", why.text);
    assert_int_equal(back.graph.node_count, 6);
    topology_fini(&back);
    growth_fini(&growth);
    topology_fini(&topology);
    text_fini(&file);
}

TEST_MAIN(TEST(new_names_are_no_longer_than_files_allow),
          TEST(a_thousand_networks_grow_from_twenty_to_sixty_switches),
          TEST(the_cables_stay_in_the_ports_they_had), TEST(a_seed_repeats_the_growth),
          TEST(a_tree_grows_in_steps_of_three_actions), TEST(ports_without_a_partner_stay_free),
          TEST(an_odd_port_is_joined_to_a_free_port), TEST(a_lone_switch_grows_into_a_network),
          TEST(new_names_continue_the_old_ones), TEST(the_majority_sets_the_defaults),
          TEST(impossible_orders_are_refused))
