#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"

static const struct link pair[] = {{0, 1, PORT_ANY, PORT_ANY}};

static void in_a_direct_network_every_node_is_a_server(void **state)
{
    struct topology topology;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 2, pair, 1, NULL), OK);
    topology_check(&topology);
    assert_int_equal(topology.server_count, 2);
    assert_int_equal(topology_switch_count(&topology), 0);
    assert_int_equal(topology_host_count(&topology), topology.graph.node_count);
    topology_fini(&topology);
}

static void servers_take_ports_of_a_switch(void **state)
{
    struct topology topology;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 2, pair, 1, NULL), OK);
    topology.sites[1].servers = 3;
    topology.sites[1].ports = 8;
    topology_count_servers(&topology);
    topology_check(&topology);
    assert_int_equal(topology.server_count, 3);
    assert_int_equal(topology_switch_count(&topology), 2);
    assert_int_equal(topology_host_count(&topology), 1);
    assert_int_equal(topology_used_ports(&topology, 1), 4);
    assert_int_equal(topology_all_ports(&topology, 1), 8);
    assert_int_equal(topology_free_ports(&topology, 1), 4);
    assert_int_equal(topology_free_ports(&topology, 0), 0);
    assert_int_equal(topology_all_ports(&topology, 0), 1);
    topology_fini(&topology);
}

/* A file of a few bytes can claim so many servers. */
static void a_switch_may_have_the_maximum_number_of_servers(void **state)
{
    struct topology topology;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 2, pair, 1, NULL), OK);
    topology.sites[1].servers = UINT32_MAX;
    topology_count_servers(&topology);
    topology_check(&topology);
    assert_int_equal(topology.server_count, UINT32_MAX);
    assert_true(topology_used_ports(&topology, 1) == (uint64_t)UINT32_MAX + 1);
    assert_int_equal(topology_all_ports(&topology, 1), UINT32_MAX);
    assert_int_equal(topology_free_ports(&topology, 1), 0);
    topology_fini(&topology);
}

static void names_are_numbers_unless_given(void **state)
{
    struct topology topology, copy;
    char buffer[NODE_NAME_SIZE];
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 2, pair, 1, NULL), OK);
    assert_string_equal(topology_name(&topology, 1, buffer), "1");
    topology.names = array_new(2, sizeof *topology.names);
    topology.names[0] = strdup("left");
    topology.names[1] = strdup("right");
    assert_int_equal(topology_copy(&copy, &topology, NULL), OK);
    topology_fini(&topology);
    assert_int_equal(topology_find(&copy, "right"), 1);
    assert_int_equal(topology_find(&copy, "1"), NODE_NONE);
    topology_check(&copy);
    topology_fini(&copy);
}

static void coordinates_and_ids_are_inverse(void **state)
{
    struct topology box = {.axis_count = 3, .axis_size = {3, 4, 5}};
    for (uint32_t node = 0; node < 60; node++) {
        uint32_t at[3];
        topology_coordinate(&box, node, at);
        assert_int_equal(at[0], node % 3);
        assert_int_equal(topology_node_at(&box, at), node);
    }
}

static void every_kind_has_a_name(void **state)
{
    for (int kind = TOPOLOGY_OTHER; kind <= TOPOLOGY_DEGREE_DIAMETER; kind++)
        assert_true(strlen(topology_kind_name((enum topology_kind)kind)) > 0);
}

TEST_MAIN(TEST(in_a_direct_network_every_node_is_a_server), TEST(servers_take_ports_of_a_switch),
          TEST(a_switch_may_have_the_maximum_number_of_servers),
          TEST(names_are_numbers_unless_given), TEST(coordinates_and_ids_are_inverse),
          TEST(every_kind_has_a_name))
