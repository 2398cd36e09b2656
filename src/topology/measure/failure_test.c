#include "topology/measure/failure.h"

#include <math.h>
#include <string.h>

#include "base/test.h"

static void build(struct topology *topology, const char *spec)
{
    assert_int_equal(topology_build(topology, spec, NULL), OK);
}

static void lose(struct topology *out, const struct topology *topology, double links, double nodes,
                 uint64_t seed)
{
    assert_int_equal(failure_apply(out, topology, links, nodes, seed, NULL), OK);
    topology_check(out);
}

static bool has_link(const struct topology *topology, const struct link *link,
                     const struct topology *names)
{
    char a[NODE_NAME_SIZE], b[NODE_NAME_SIZE];
    uint32_t from = topology_find(topology, topology_name(names, link->a, a));
    uint32_t to = topology_find(topology, topology_name(names, link->b, b));
    return from != NODE_NONE && to != NODE_NONE && graph_adjacent(&topology->graph, from, to);
}

static void the_requested_number_fails(void **state)
{
    struct topology torus, less;
    build(&torus, "torus:5x6x7"); /* 210 nodes, 630 links */
    lose(&less, &torus, 0.1, 0, 1);
    assert_int_equal(less.graph.link_count, 567);
    assert_int_equal(less.graph.node_count, 210);
    assert_null(less.names);
    assert_int_equal(less.axis_count, 3);
    assert_int_equal(less.kind, TOPOLOGY_OTHER);
    topology_fini(&less);
    lose(&less, &torus, 0, 0.25, 1); /* 52.5 rounds to 53 */
    assert_int_equal(less.graph.node_count, 157);
    assert_int_equal(less.server_count, 157);
    assert_int_equal(less.axis_count, 0);
    topology_fini(&less);
    lose(&less, &torus, 0, 1, 1);
    assert_int_equal(less.graph.node_count, 0);
    topology_fini(&less);
    lose(&less, &torus, 1, 0, 1);
    assert_int_equal(less.graph.link_count, 0);
    topology_fini(&less);
    topology_fini(&torus);
}

static void no_failure_gives_a_copy(void **state)
{
    struct topology torus, same;
    build(&torus, "torus:3x4");
    lose(&same, &torus, 0, 0, 1);
    assert_string_equal(same.spec, torus.spec);
    assert_true(graph_equal(&same.graph, &torus.graph));
    topology_fini(&same);
    topology_fini(&torus);
}

static void survivors_keep_names_sites_ports_and_cables(void **state)
{
    struct topology torus, less;
    char buffer[NODE_NAME_SIZE];
    build(&torus, "torus:4x4x4");
    torus.direct = false; /* as switches, node v with v servers */
    for (uint32_t v = 0; v < 64; v++)
        torus.sites[v].servers = v;
    topology_count_servers(&torus);
    lose(&less, &torus, 0, 0.3, 9);
    uint32_t links = 0;
    for (uint32_t e = 0; e < torus.graph.link_count; e++)
        links += has_link(&less, &torus.graph.links[e], &torus);
    assert_int_equal(links, less.graph.link_count);
    for (uint32_t v = 0; v < less.graph.node_count; v++) {
        uint32_t old = topology_find(&torus, topology_name(&less, v, buffer));
        assert_int_equal(less.sites[v].servers, old);
        assert_true(v == 0 || old > topology_find(&torus, less.names[v - 1]));
    }
    for (uint32_t e = 0; e < less.graph.link_count; e++) {
        const struct link *link = &less.graph.links[e];
        assert_int_equal(link->a_port % 2, 0); /* a link goes from an up port to a down port */
        assert_int_equal(link->b_port, link->a_port + 1);
    }
    topology_fini(&less);
    topology_fini(&torus);
}

/* Everything that a higher share leaves, a lower share leaves too. */
static void a_lower_share_leaves_all_that_a_higher_one_leaves_and_seeds_differ(void **state)
{
    struct topology torus, more, less, again, other;
    char buffer[NODE_NAME_SIZE];
    build(&torus, "torus:5x5x5");
    for (uint64_t seed = 1; seed <= 5; seed++) {
        lose(&more, &torus, 0.2, 0.1, seed);
        lose(&less, &torus, 0.3, 0.2, seed);
        for (uint32_t v = 0; v < less.graph.node_count; v++)
            assert_int_not_equal(topology_find(&more, topology_name(&less, v, buffer)), NODE_NONE);
        for (uint32_t e = 0; e < less.graph.link_count; e++)
            assert_true(has_link(&more, &less.graph.links[e], &less));
        assert_true(less.graph.link_count < more.graph.link_count);
        lose(&again, &torus, 0.3, 0.2, seed);
        assert_true(graph_equal(&again.graph, &less.graph));
        lose(&other, &torus, 0.3, 0.2, seed + 1);
        assert_false(graph_equal(&other.graph, &less.graph));
        topology_fini(&more);
        topology_fini(&less);
        topology_fini(&again);
        topology_fini(&other);
    }
    topology_fini(&torus);
}

static void impossible_shares_are_refused(void **state)
{
    const double shares[] = {-0.1, 1.1, (double)NAN};
    struct topology torus, less;
    struct why why;
    build(&torus, "torus:3");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(failure_apply(&less, &torus, shares[i], 0, 1, &why), ERR_USAGE);
        assert_int_equal(failure_apply(&less, &torus, 0, shares[i], 1, &why), ERR_USAGE);
        assert_string_equal(why.text, "failures: a share must be from 0 to 1");
    }
    topology_fini(&torus);
}

TEST_MAIN(TEST(the_requested_number_fails), TEST(no_failure_gives_a_copy),
          TEST(survivors_keep_names_sites_ports_and_cables),
          TEST(a_lower_share_leaves_all_that_a_higher_one_leaves_and_seeds_differ),
          TEST(impossible_shares_are_refused))
