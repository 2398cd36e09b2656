#include "topology/graph.h"

#include "base/test.h"
#include "topology/connected_test.h"

#define ANY(from, to)                                                                              \
    {                                                                                              \
        .a = (from), .b = (to), .a_port = PORT_ANY, .b_port = PORT_ANY                             \
    }

static void a_triangle_has_two_slots_everywhere(void **state)
{
    const struct link links[] = {ANY(0, 1), ANY(1, 2), ANY(2, 0)};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 3, links, 3, NULL), OK);
    graph_check(&graph);
    for (uint32_t v = 0; v < 3; v++)
        assert_int_equal(graph_degree(&graph, v), 2);
    assert_true(graph_adjacent(&graph, 0, 2));
    assert_true(test_connected(&graph));
    assert_int_equal(graph_channel_from(&graph, 5), 0);
    assert_int_equal(graph_channel_to(&graph, 5), 2);
    graph_fini(&graph);
}

static void free_ports_are_filled_around_named_ones(void **state)
{
    const struct link links[] = {{0, 1, 1, PORT_ANY}, ANY(0, 2), ANY(0, 3)};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 4, links, 3, NULL), OK);
    graph_check(&graph);
    assert_int_equal(graph.links[0].a_port, 1);
    assert_int_equal(graph.links[1].a_port, 0);
    assert_int_equal(graph.links[2].a_port, 2);
    assert_int_equal(graph.to[graph.first[0]], 2); /* slots are in port order */
    graph_fini(&graph);
}

static void parallel_cables_are_two_links(void **state)
{
    const struct link links[] = {ANY(0, 1), ANY(1, 0)};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 2, links, 2, NULL), OK);
    graph_check(&graph);
    assert_int_equal(graph_degree(&graph, 0), 2);
    graph_fini(&graph);
}

static void bad_links_are_named(void **state)
{
    struct graph graph;
    struct why why;
    const struct link loop[] = {ANY(0, 1), ANY(2, 2)};
    assert_int_equal(graph_make(&graph, 3, loop, 2, &why), ERR_INPUT);
    assert_string_equal(why.text, "link 1 joins node 2 to itself");
    const struct link stranger[] = {ANY(0, 9)};
    assert_int_equal(graph_make(&graph, 3, stranger, 1, &why), ERR_INPUT);
    assert_string_equal(why.text,
                        "link 0 joins nodes 0 and 9, but there are only 3 nodes, numbered from 0");
    const struct link crowded[] = {{0, 1, 4, 0}, {0, 2, 4, 0}};
    assert_int_equal(graph_make(&graph, 3, crowded, 2, &why), ERR_INPUT);
    assert_string_equal(why.text, "port 4 of node 0 has two cables");
    assert_int_equal(graph_make(&graph, GRAPH_NODE_MAX + 1, NULL, 0, &why), ERR_USAGE);
}

static void a_ring_without_a_node_is_not_connected(void **state)
{
    const struct link links[] = {ANY(0, 1), ANY(1, 2), ANY(2, 0)};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 3, links + 1, 2, NULL), OK); /* a path is connected */
    assert_true(test_connected(&graph));
    graph_fini(&graph);
    assert_int_equal(graph_make(&graph, 3, links + 2, 1, NULL), OK);
    assert_false(test_connected(&graph));
    graph_fini(&graph);
}

static void equality_ignores_order_but_not_ports(void **state)
{
    const struct link one[] = {{0, 1, 0, 0}, {1, 2, 1, 0}};
    const struct link turned[] = {{2, 1, 0, 1}, {0, 1, 0, 0}};
    const struct link moved[] = {{0, 1, 0, 1}, {1, 2, 0, 0}};
    struct graph a, b, c;
    assert_int_equal(graph_make(&a, 3, one, 2, NULL), OK);
    assert_int_equal(graph_make(&b, 3, turned, 2, NULL), OK);
    assert_int_equal(graph_make(&c, 3, moved, 2, NULL), OK);
    assert_true(graph_equal(&a, &b));
    assert_false(graph_equal(&a, &c));
    graph_fini(&a);
    graph_fini(&b);
    graph_fini(&c);
}

static void an_empty_graph_is_a_graph(void **state)
{
    struct graph graph;
    assert_int_equal(graph_make(&graph, 0, NULL, 0, NULL), OK);
    graph_check(&graph);
    assert_true(test_connected(&graph));
    graph_fini(&graph);
}

TEST_MAIN(TEST(a_triangle_has_two_slots_everywhere), TEST(free_ports_are_filled_around_named_ones),
          TEST(parallel_cables_are_two_links), TEST(bad_links_are_named),
          TEST(a_ring_without_a_node_is_not_connected), TEST(equality_ignores_order_but_not_ports),
          TEST(an_empty_graph_is_a_graph))
