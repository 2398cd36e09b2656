#include "topology/generate/fattree.h"

#include "topology/generate/reach_test.h"

static void counts_are_those_of_the_paper(void **state)
{
    for (uint32_t k = 2; k <= 16; k += 2) {
        char spec[32];
        snprintf(spec, sizeof spec, "fattree:k=%u", k);
        struct topology tree = reach_build(spec);
        const struct graph *graph = &tree.graph;
        struct reach reach = reach_measure(graph, graph->node_count);
        assert_int_equal(tree.server_count, k * k * k / 4);
        assert_int_equal(topology_switch_count(&tree), 5 * k * k / 4);
        assert_int_equal(graph->link_count, k * k * k / 2);
        assert_true(reach.simple && reach_whole(&reach, graph));
        assert_int_equal(reach.diameter, 4);
        for (uint32_t v = 0; v < graph->node_count; v++) {
            assert_int_equal(tree.sites[v].ports, k);
            assert_int_equal(topology_free_ports(&tree, v), 0);
        }
        topology_fini(&tree);
    }
}

/* Every cable joins a level to the next one. Edge and aggregation switches are joined only within a
 * pod. Every core switch has one cable to each pod, on the port with the pod's number. */
static void cables_fit_the_levels_and_pods(void **state)
{
    struct topology tree = reach_build("fattree:k=6");
    const struct graph *graph = &tree.graph;
    uint32_t in_level[3] = {0};
    for (uint32_t v = 0; v < graph->node_count; v++) {
        in_level[tree.sites[v].level]++;
        assert_int_equal(tree.sites[v].servers, tree.sites[v].level == 0 ? 3 : 0);
    }
    assert_int_equal(in_level[0], 18);
    assert_int_equal(in_level[1], 18);
    assert_int_equal(in_level[2], 9);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        const struct site *low = &tree.sites[link->a], *high = &tree.sites[link->b];
        assert_int_equal(low->level + 1, high->level);
        if (low->level == 0) {
            assert_int_equal(low->group, high->group);
        } else {
            assert_int_equal(high->group, GROUP_NONE);
            assert_int_equal(link->b_port, low->group);
            assert_int_equal(link->b, 36 + link->a % 3 * 3 + link->a_port - 3);
        }
    }
    topology_fini(&tree);
}

/* From edge switch 0 to any other there is one path through each core switch. */
static void two_edge_switches_have_one_path_through_each_core(void **state)
{
    struct topology tree = reach_build("fattree:k=6");
    const struct graph *graph = &tree.graph;
    for (uint32_t other = 1; other < 18; other++) {
        uint32_t paths = 0;
        for (uint32_t up = 0; up < 3; up++)
            for (uint32_t down = 0; down < 3; down++)
                for (uint32_t core = 36; core < 45; core++)
                    paths += graph_adjacent(graph, graph->to[graph->first[0] + up], core) &&
                             graph_adjacent(graph, core, graph->to[graph->first[other] + down]);
        assert_int_equal(paths, 9);
    }
    topology_fini(&tree);
}

TEST_MAIN(TEST(counts_are_those_of_the_paper), TEST(cables_fit_the_levels_and_pods),
          TEST(two_edge_switches_have_one_path_through_each_core))
