#include "flow/bisection/clos.h"

#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "flow/bisection/example.h"

static bool whole_of(const struct topology *topology)
{
    bool whole = false;
    assert_int_equal(clos_check(topology, &whole, NULL), OK);
    return whole;
}

static void fat_trees_are_complete(void **state)
{
    static const char *specs[] = {"fattree:k=2", "fattree:k=4", "fattree:k=6", "fattree:k=14"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        example_spec(&topology, specs[i]);
        assert_true(whole_of(&topology));
        topology_fini(&topology);
    }
}

static void a_fat_tree_without_one_cable_is_not_complete(void **state)
{
    struct topology tree, broken;
    example_spec(&tree, "fattree:k=4");
    assert_int_equal(tree.graph.link_count, 32);
    for (uint32_t e = 0; e < 32; e++) {
        example_without(&broken, &tree, e);
        assert_int_equal(broken.kind, TOPOLOGY_FATTREE);
        assert_false(whole_of(&broken));
        topology_fini(&broken);
    }
    topology_fini(&tree);
}

/* Two cables between a pod and the cores are crossed. All degrees are right, but the cores of an
 * aggregation switch no longer all lead to the same aggregation switches. */
static void crossed_cables_are_noticed(void **state)
{
    struct topology tree, crossed;
    struct link links[32];
    example_spec(&tree, "fattree:k=4");
    memcpy(links, tree.graph.links, sizeof links);
    struct link *one = &links[16], *other = &links[19]; /* of two aggregation switches of pod 0 */
    assert_int_equal(tree.sites[one->a].group, tree.sites[other->a].group);
    assert_true(one->a != other->a && one->b != other->b);
    uint32_t core = one->b;
    one->b = other->b;
    other->b = core;
    assert_int_equal(topology_copy(&crossed, &tree, NULL), OK);
    graph_fini(&crossed.graph);
    assert_int_equal(graph_make(&crossed.graph, tree.graph.node_count, links, 32, NULL), OK);
    assert_false(whole_of(&crossed));
    topology_fini(&crossed);
    topology_fini(&tree);
}

static void too_many_servers_or_none_are_refused(void **state)
{
    struct topology tree;
    example_spec(&tree, "fattree:k=4");
    tree.sites[3].servers++;
    topology_count_servers(&tree);
    assert_false(whole_of(&tree));
    for (uint32_t v = 0; v < tree.graph.node_count; v++)
        tree.sites[v].servers = 0;
    topology_count_servers(&tree);
    assert_false(whole_of(&tree)); /* the proof is about halves of servers, not of nodes */
    topology_fini(&tree);
}

TEST_MAIN(TEST(fat_trees_are_complete), TEST(a_fat_tree_without_one_cable_is_not_complete),
          TEST(crossed_cables_are_noticed), TEST(too_many_servers_or_none_are_refused))
