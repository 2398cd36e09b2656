#include "topology/generate/degree_diameter.h"

#include <string.h>

#include "topology/generate/reach_test.h"

/* A larger graph is searched from some nodes only. All larger graphs are Cayley graphs, which look
 * the same from every node. */
#define SEARCHED_MAX 1500

static void every_listed_graph_has_its_degree_and_diameter(void **state)
{
    for (size_t i = 0; i < degree_diameter_count(); i++) {
        struct degree_diameter size = degree_diameter_at(i);
        char spec[SPEC_SIZE];
        snprintf(spec, sizeof spec, "degree-diameter:%u,%u,%u", size.nodes, size.degree,
                 size.diameter);
        struct topology topology = reach_build(spec);
        const struct graph *graph = &topology.graph;
        uint32_t sources = graph->node_count <= SEARCHED_MAX ? graph->node_count : 3;
        struct reach reach = reach_measure(graph, sources);
        if (graph->node_count != size.nodes || reach.degree_max != size.degree ||
            reach.diameter != size.diameter || !reach.simple)
            fail_msg("%s: %u nodes, degree %u, diameter %u%s", spec, graph->node_count,
                     reach.degree_max, reach.diameter, reach.simple ? "" : ", parallel cables");
        assert_int_equal(reach.pairs, (uint64_t)sources * (graph->node_count - 1));
        assert_true(reach.degree_min + 2 >= size.degree); /* fewer: see field_graph.h */
        assert_string_equal(topology.spec, spec);
        topology_fini(&topology);
    }
}

/* The largest possible number of nodes within distance D at degree d. */
static uint64_t moore_bound(const struct degree_diameter *size)
{
    uint64_t bound = 1, shell = size->degree;
    for (uint32_t i = 0; i < size->diameter; i++) {
        bound += shell;
        shell *= size->degree - 1;
    }
    return bound;
}

static void no_graph_passes_the_moore_bound_and_two_meet_it(void **state)
{
    uint32_t meet = 0;
    for (size_t i = 0; i < degree_diameter_count(); i++) {
        struct degree_diameter size = degree_diameter_at(i);
        assert_true(size.nodes <= moore_bound(&size));
        meet += size.nodes == moore_bound(&size);
    }
    assert_int_equal(meet, 2); /* Petersen, Hoffman and Singleton */
}

static void the_list_is_in_order(void **state)
{
    for (size_t i = 1; i < degree_diameter_count(); i++) {
        struct degree_diameter a = degree_diameter_at(i - 1), b = degree_diameter_at(i);
        assert_true(a.diameter < b.diameter || (a.diameter == b.diameter && a.degree < b.degree));
    }
}

static void complete_graphs_and_odd_cycles_are_built(void **state)
{
    struct topology complete = reach_build("degree-diameter:9,8,1"),
                    cycle = reach_build("degree-diameter:11,2,5"),
                    triangle = reach_build("degree-diameter:3,2,1");
    struct reach all = reach_measure(&complete.graph, 9), ring = reach_measure(&cycle.graph, 11);
    assert_int_equal(all.diameter, 1);
    assert_int_equal(complete.graph.link_count, 36);
    assert_int_equal(ring.diameter, 5);
    assert_int_equal(ring.degree_max, 2);
    assert_int_equal(triangle.graph.link_count, 3);
    topology_fini(&complete);
    topology_fini(&cycle);
    topology_fini(&triangle);
}

static void unknown_graphs_are_refused(void **state)
{
    static const char *const specs[] = {
        "degree-diameter:51,7,2",
        "degree-diameter:3250,57,2",
        "degree-diameter:0,0,0",
        "degree-diameter:1,0,1",
        "degree-diameter:10,2,5",
        "degree-diameter:4294967295,4294967294,1",
        "degree-diameter:50,7",
        "degree-diameter:50,7,2,servers=0",
        "degree-diameter:50,7,2,5",
        "degree-diameter:50,7,2,",
        "degree-diameter:50,7,99999999999",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        struct why why = {0};
        assert_int_equal(topology_build(&topology, specs[i], &why), ERR_USAGE);
        assert_memory_equal(why.text, specs[i], strlen(specs[i]));
    }
    struct topology topology;
    struct why why;
    assert_int_equal(topology_build(&topology, "degree-diameter:51,7,2", &why), ERR_USAGE);
    assert_non_null(strstr(why.text, " 50,7,2")); /* the graphs of that degree */
}

static void a_graph_with_servers_is_switched(void **state)
{
    struct topology topology = reach_build("degree-diameter:50,7,2,servers=3");
    assert_false(topology.direct);
    assert_int_equal(topology.server_count, 150);
    assert_string_equal(topology.spec, "degree-diameter:50,7,2,servers=3");
    topology_fini(&topology);
}

TEST_MAIN(TEST(every_listed_graph_has_its_degree_and_diameter),
          TEST(no_graph_passes_the_moore_bound_and_two_meet_it), TEST(the_list_is_in_order),
          TEST(complete_graphs_and_odd_cycles_are_built), TEST(unknown_graphs_are_refused),
          TEST(a_graph_with_servers_is_switched))
