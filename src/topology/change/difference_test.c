#include "topology/change/difference.h"

#include <stdio.h>

#include "topology/change/grow.h"
#include "topology/change/replay_test.h"
#include "topology/generate/torus.h"

#define SEED 77

/* Costs of the plans of one kind, printed for information. */
struct cost {
    uint32_t plans, actions, together, longest;
};

static void cost_print(const char *what, const struct cost *cost)
{
    printf("# seed %d, %s: %u plans, %.1f actions each, %.1f steps of several, the longest %u\n",
           SEED, what, cost->plans, (double)cost->actions / cost->plans,
           (double)cost->together / cost->plans, cost->longest);
}

static void cost_add(struct cost *cost, const struct rewire_plan *plan)
{
    cost->plans++;
    cost->actions += (uint32_t)plan->count;
    cost->together += plan->together_count;
    for (size_t i = 0, first = 0; i < plan->count; i++) {
        if (plan->actions[i].step != plan->actions[first].step)
            first = i;
        if (i - first + 1 > cost->longest)
            cost->longest = (uint32_t)(i - first + 1);
    }
}

static int link_by_ends(const void *left, const void *right)
{
    const struct link *one = left, *other = right;
    uint64_t x = (uint64_t)one->a << 32 | one->b, y = (uint64_t)other->a << 32 | other->b;
    return x < y ? -1 : x > y;
}

/* The links as pairs of nodes, sorted, without ports. */
static struct link *pairs_sorted(const struct link *links, uint32_t count, const uint32_t *number)
{
    struct link *pairs = array_new(count, sizeof *pairs);
    for (uint32_t e = 0; e < count; e++) {
        uint32_t a = number ? number[links[e].a] : links[e].a;
        uint32_t b = number ? number[links[e].b] : links[e].b;
        pairs[e] = a < b ? (struct link){a, b, 0, 0} : (struct link){b, a, 0, 0};
    }
    qsort(pairs, count, sizeof *pairs, link_by_ends);
    return pairs;
}

static uint32_t pairs_common(const struct link *one, uint32_t one_count, const struct link *other,
                             uint32_t other_count)
{
    uint32_t i = 0, j = 0, common = 0;
    while (i < one_count && j < other_count) {
        int order = link_by_ends(&one[i], &other[j]);
        common += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return common;
}

static uint32_t capacity(const struct topology *topology, uint32_t node)
{
    uint32_t ports = topology->sites[node].ports;
    uint32_t hosts = topology->direct ? 0 : topology->sites[node].servers;
    uint32_t degree = graph_degree(&topology->graph, node);
    return ports > hosts + degree ? ports - hosts : degree;
}

/* Makes the plan, executes it, and checks that it ends in the second network without superfluous
 * actions. */
static void diff_checked(struct difference *difference, const struct topology *before,
                         const struct topology *after)
{
    assert_int_equal(difference_make(difference, before, after, NULL), OK);
    uint32_t nodes = difference->node_count;
    uint32_t *limit = array_new(nodes, sizeof *limit);
    uint32_t *number = array_new(after->graph.node_count, sizeof *number);
    uint8_t *leaving = array_new(nodes, 1);
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t w = difference->after[v];
        if (v < before->graph.node_count)
            limit[v] = capacity(before, v);
        leaving[v] = w == NODE_NONE;
        if (w == NODE_NONE)
            continue;
        number[w] = v;
        if (capacity(after, w) > limit[v])
            limit[v] = capacity(after, w);
    }
    const struct rewire_plan *plan = &difference->plan;
    struct replay replay;
    replay_init(&replay, nodes, limit, leaving, &before->graph, plan->count);
    assert_int_equal(replay_parts(&replay), difference->parts_before);
    struct link *old = pairs_sorted(replay.cables, replay.count, NULL);
    struct link *new = pairs_sorted(after->graph.links, after->graph.link_count, number);
    uint32_t common = pairs_common(old, before->graph.link_count, new, after->graph.link_count);
    assert_int_equal(plan->unplug_count, before->graph.link_count - common);
    assert_int_equal(plan->plug_count, after->graph.link_count - common);
    replay_run(&replay, plan);
    assert_int_equal(replay_parts(&replay), difference->parts_after);
    struct link *result = pairs_sorted(replay.cables, replay.count, NULL);
    assert_int_equal(replay.count, after->graph.link_count);
    assert_int_equal(pairs_common(result, replay.count, new, replay.count), replay.count);
    replay_fini(&replay);
    free(old);
    free(new);
    free(result);
    free(limit);
    free(number);
    free(leaving);
}

/* Both networks are connected, so the network must be connected after every step. */
static void diff_whole(struct cost *cost, const struct topology *before,
                       const struct topology *after)
{
    struct difference difference;
    diff_checked(&difference, before, after);
    assert_int_equal(difference.plan.apart_count, 0);
    cost_add(cost, &difference.plan);
    difference_fini(&difference);
}

static void direct_make(struct topology *topology, uint32_t nodes, const struct link *links,
                        uint32_t count)
{
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, true, nodes, links, count, NULL), OK);
}

static void regular_make(struct topology *topology, uint32_t nodes, uint32_t degree,
                         struct rng *rng)
{
    struct graph graph;
    random_regular(&graph, nodes, degree, rng);
    direct_make(topology, nodes, graph.links, graph.link_count);
    graph_fini(&graph);
}

static void plans_between_random_regular_networks_can_be_carried_out(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    for (uint32_t degree = 2; degree <= 6; degree++) {
        struct cost cost = {0};
        char what[32];
        for (int round = 0; round < 100; round++) {
            struct topology one, other;
            uint32_t nodes = 8 + 2 * (uint32_t)rng_below(&rng, 12);
            regular_make(&one, nodes, degree, &rng);
            regular_make(&other, nodes, degree, &rng);
            diff_whole(&cost, &one, &other);
            topology_fini(&one);
            topology_fini(&other);
        }
        snprintf(what, sizeof what, "regular, degree %u", degree);
        cost_print(what, &cost);
    }
}

/* A random tree, or with `path` a random path, whose nodes have no free port. */
static void tree_make(struct topology *topology, uint32_t nodes, bool path, struct rng *rng)
{
    uint32_t order[64];
    struct link links[64];
    for (uint32_t v = 0; v < nodes; v++)
        order[v] = v;
    rng_shuffle(rng, order, nodes);
    for (uint32_t v = 1; v < nodes; v++) {
        uint32_t parent = path ? v - 1 : (uint32_t)rng_below(rng, v);
        links[v - 1] = (struct link){order[v], order[parent], PORT_ANY, PORT_ANY};
    }
    direct_make(topology, nodes, links, nodes - 1);
}

static void plans_between_trees_and_between_paths_can_be_carried_out(void **state)
{
    struct rng rng = rng_make(SEED, 2);
    for (int path = 0; path < 2; path++) {
        struct cost cost = {0};
        for (int round = 0; round < 200; round++) {
            struct topology one, other;
            uint32_t nodes = 2 + (uint32_t)rng_below(&rng, 29);
            tree_make(&one, nodes, path, &rng);
            tree_make(&other, nodes, path, &rng);
            diff_whole(&cost, &one, &other);
            topology_fini(&one);
            topology_fini(&other);
        }
        cost_print(path ? "paths" : "trees", &cost);
    }
}

static void ring_make(struct topology *topology, uint32_t nodes, struct rng *rng)
{
    uint32_t order[64];
    struct link links[64];
    for (uint32_t v = 0; v < nodes; v++)
        order[v] = v;
    rng_shuffle(rng, order, nodes);
    for (uint32_t v = 0; v < nodes; v++)
        links[v] = (struct link){order[v], order[(v + 1) % nodes], PORT_ANY, PORT_ANY};
    direct_make(topology, nodes, links, nodes);
}

static void plans_between_rings_can_be_carried_out(void **state)
{
    struct rng rng = rng_make(SEED, 3);
    struct cost cost = {0};
    for (int round = 0; round < 200; round++) {
        struct topology one, other;
        uint32_t nodes = 3 + (uint32_t)rng_below(&rng, 28);
        ring_make(&one, nodes, &rng);
        ring_make(&other, nodes, &rng);
        diff_whole(&cost, &one, &other);
        topology_fini(&one);
        topology_fini(&other);
    }
    cost_print("rings", &cost);
}

/* A torus, or the same servers with wraparound cables that lead elsewhere, as in a NovaCube: from
 * (k - 1) of a row to the beginning of the opposite row. */
static void twisted_make(struct topology *topology, uint32_t size)
{
    uint32_t count = 0;
    struct link *links = array_new(2 * (size_t)size * size, sizeof *links);
    for (uint32_t y = 0; y < size; y++)
        for (uint32_t x = 0; x < size; x++) {
            uint32_t right = x + 1 < size ? y : (y + size / 2) % size;
            uint32_t up = y + 1 < size ? x : (x + size / 2) % size;
            links[count++] =
                (struct link){y * size + x, right * size + (x + 1) % size, PORT_ANY, PORT_ANY};
            links[count++] =
                (struct link){y * size + x, (y + 1) % size * size + up, PORT_ANY, PORT_ANY};
        }
    direct_make(topology, size * size, links, count);
    free(links);
}

static void plans_from_a_torus_to_a_twisted_one_and_back_can_be_carried_out(void **state)
{
    struct cost cost = {0};
    for (uint32_t size = 3; size <= 12; size++) {
        struct topology torus, twisted;
        char spec[32];
        snprintf(spec, sizeof spec, "torus:%ux%u", size, size);
        assert_int_equal(topology_build(&torus, spec, NULL), OK);
        twisted_make(&twisted, size);
        diff_whole(&cost, &torus, &twisted);
        diff_whole(&cost, &twisted, &torus);
        topology_fini(&torus);
        topology_fini(&twisted);
    }
    assert_int_equal(cost.together, 0);
    cost_print("tori", &cost);
}

static void a_torus_of_two_has_gaps_in_its_ports(void **state)
{
    struct topology one, other;
    struct cost cost = {0};
    assert_int_equal(topology_build(&one, "torus:2x3x2", NULL), OK);
    assert_int_equal(topology_build(&other, "torus:3x2x2", NULL), OK);
    diff_whole(&cost, &one, &other);
    diff_whole(&cost, &one, &one);
    assert_int_equal(cost.plans, 2);
    topology_fini(&one);
    topology_fini(&other);
}

static void a_network_grows_and_shrinks_back(void **state)
{
    struct rng rng = rng_make(SEED, 4);
    struct cost cost = {0};
    for (uint32_t round = 0; round < 200; round++) {
        struct topology before;
        struct growth growth;
        uint32_t degree = 2 + (uint32_t)rng_below(&rng, 4);
        regular_make(&before, 10 + 2 * (uint32_t)rng_below(&rng, 6), degree, &rng);
        struct grow_order order = {.count = 1 + (uint32_t)rng_below(&rng, 12),
                                   .ports = 2 + (uint32_t)rng_below(&rng, 5),
                                   .servers = 1,
                                   .seed = round};
        assert_int_equal(grow_topology(&growth, &before, &order, NULL), OK);
        struct difference difference;
        diff_checked(&difference, &before, &growth.topology);
        assert_int_equal(difference.added_count, order.count);
        assert_int_equal(difference.removed_count, 0);
        assert_int_equal(difference.plan.apart_count, 0);
        difference_fini(&difference);
        diff_checked(&difference, &growth.topology, &before);
        assert_int_equal(difference.removed_count, order.count);
        assert_int_equal(difference.plan.apart_count, 0);
        cost_add(&cost, &difference.plan);
        difference_fini(&difference);
        growth_fini(&growth);
        topology_fini(&before);
    }
    cost_print("grown ones shrinking", &cost);
}

/* Sparse random networks, connected or not, of different nodes: no plan may fail, and if both
 * networks are connected, so is the network after every step. */
static void random_make(struct topology *topology, uint32_t nodes, struct rng *rng)
{
    struct link links[64];
    uint32_t count = 0, wanted = (uint32_t)rng_below(rng, 2 * nodes);
    while (count < wanted) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a != b)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
        else
            wanted--;
    }
    direct_make(topology, nodes, links, count);
}

static void plans_between_any_two_networks_can_be_carried_out(void **state)
{
    struct rng rng = rng_make(SEED, 5);
    struct cost cost = {0};
    uint32_t whole = 0;
    for (int round = 0; round < 3000; round++) {
        struct topology one, other;
        struct difference difference;
        random_make(&one, 2 + (uint32_t)rng_below(&rng, 10), &rng);
        random_make(&other, 2 + (uint32_t)rng_below(&rng, 10), &rng);
        diff_checked(&difference, &one, &other);
        if (difference.parts_before <= 1 && difference.parts_after <= 1) {
            assert_int_equal(difference.plan.apart_count, 0);
            whole++;
        }
        cost_add(&cost, &difference.plan);
        difference_fini(&difference);
        topology_fini(&one);
        topology_fini(&other);
    }
    cost_print("random, often in pieces", &cost);
    assert_true(whole > 300);
}

static void names_set(struct topology *topology, const char *letters)
{
    topology->names = array_new(topology->graph.node_count, sizeof *topology->names);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        topology->names[v] = strndup(letters + v, 1);
}

static void nodes_are_matched_by_name(void **state)
{
    const struct link ring[] = {
        {0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}, {2, 0, PORT_ANY, PORT_ANY}};
    struct topology one, other;
    struct difference difference;
    struct why why;
    direct_make(&one, 3, ring, 3);
    direct_make(&other, 3, ring, 3);
    names_set(&one, "abc");
    names_set(&other, "dca");
    diff_checked(&difference, &one, &other); /* b leaves, d is added */
    assert_int_equal(difference.node_count, 4);
    assert_int_equal(difference.after[0], 2);
    assert_int_equal(difference.after[1], NODE_NONE);
    assert_int_equal(difference.after[3], 0);
    assert_int_equal(difference.plan.plug_count, 2);
    assert_int_equal(difference.plan.apart_count, 0);
    difference_fini(&difference);

    strcpy(other.names[0], "c");
    assert_int_equal(difference_make(&difference, &one, &other, &why), ERR_INPUT);
    assert_string_equal(why.text, "two nodes are named 'c'");
    strcpy(other.names[0], "x");
    strcpy(other.names[1], "y");
    strcpy(other.names[2], "z");
    assert_int_equal(difference_make(&difference, &one, &other, &why), ERR_USAGE);
    strcpy(other.names[2], "a");
    other.direct = false;
    assert_int_equal(difference_make(&difference, &one, &other, &why), ERR_USAGE);
    topology_fini(&one);
    topology_fini(&other);

    direct_make(&one, 3, ring, 3); /* numbers on one side, names that are numbers on the other */
    direct_make(&other, 3, ring, 3);
    names_set(&other, "201");
    diff_checked(&difference, &one, &other);
    assert_int_equal(difference.plan.count, 0);
    assert_int_equal(difference.after[0], 1);
    difference_fini(&difference);
    topology_fini(&one);
    topology_fini(&other);
}

/* A free port makes the step of several actions unnecessary: the new cable is plugged first. */
static void free_ports_are_used_first(void **state)
{
    const struct link path[] = {{0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}};
    const struct link turned[] = {{0, 2, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}};
    for (uint32_t ports = 0; ports <= 2; ports += 2) {
        struct topology one, other;
        struct difference difference;
        direct_make(&one, 3, path, 2);
        direct_make(&other, 3, turned, 2);
        for (uint32_t v = 0; v < 3; v++)
            one.sites[v].ports = ports;
        diff_checked(&difference, &one, &other);
        assert_int_equal(difference.plan.count, 2);
        assert_int_equal(difference.plan.together_count, ports ? 0 : 1);
        assert_int_equal(difference.plan.apart_count, 0);
        difference_fini(&difference);
        topology_fini(&one);
        topology_fini(&other);
    }
}

TEST_MAIN(TEST(plans_between_random_regular_networks_can_be_carried_out),
          TEST(plans_between_trees_and_between_paths_can_be_carried_out),
          TEST(plans_between_rings_can_be_carried_out),
          TEST(plans_from_a_torus_to_a_twisted_one_and_back_can_be_carried_out),
          TEST(a_torus_of_two_has_gaps_in_its_ports), TEST(a_network_grows_and_shrinks_back),
          TEST(plans_between_any_two_networks_can_be_carried_out), TEST(nodes_are_matched_by_name),
          TEST(free_ports_are_used_first))
