#include "flow/bisection/reach.h"

#include "base/test.h"
#include "flow/bisection/bisection.h"
#include "flow/bisection/example.h"

static uint64_t lower(const struct topology *topology)
{
    struct halving halving;
    struct distance_tally tally = {0};
    assert_int_equal(halving_init(&halving, topology, NULL), OK);
    assert_int_equal(distance_tally_add(&tally, topology, 0, topology->graph.node_count, NULL), OK);
    uint64_t bound = reach_lower(topology, &halving, &tally);
    distance_tally_fini(&tally);
    halving_fini(&halving);
    return bound;
}

/* All pairs are neighbours, so each separated pair has its own cable. */
static void complete_graphs_are_bounded_exactly(void **state)
{
    for (uint32_t nodes = 2; nodes < 30; nodes++) {
        struct topology topology;
        example_complete(&topology, nodes);
        assert_int_equal(lower(&topology), (uint64_t)(nodes / 2) * (nodes - nodes / 2));
        topology_fini(&topology);
    }
}

/* A halving of Petersen's graph separates 25 pairs, all within 2 hops, and a cable carries at most
 * 1 + 2 * 2 = 5 of them. So it cuts at least 5 cables, and the smallest halving does cut 5. */
static void the_bound_of_moore_graphs_follows_the_formula(void **state)
{
    struct topology topology;
    example_spec(&topology, "degree-diameter:10,3,2");
    assert_int_equal(lower(&topology), 5);
    topology_fini(&topology);
    example_spec(&topology, "degree-diameter:50,7,2"); /* 625 / 13, rounded up */
    assert_int_equal(lower(&topology), 49);
    topology_fini(&topology);
}

/* On a ring, at most j paths of j hops use a cable, so a cable carries at most 1 + 2 + 3 + 4 = 10
 * pairs. A halving of 8 nodes separates 16 pairs, so it cuts at least 2 cables. */
static void the_bound_of_rings_follows_the_formula(void **state)
{
    struct topology topology;
    example_spec(&topology, "torus:8");
    assert_int_equal(lower(&topology), 2);
    topology_fini(&topology);
}

static void no_halving_is_smaller_than_the_bound(void **state)
{
    print_message("# seed 83\n");
    struct rng rng = rng_make(83, 0);
    int proved = 0;
    for (int round = 0; round < 400; round++) {
        struct topology topology;
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, 9);
        example_random(&topology, nodes, (uint32_t)rng_below(&rng, nodes * nodes), round % 5 != 0,
                       round % 4, &rng);
        uint64_t bound = lower(&topology);
        assert_true(bound <= example_smallest(&topology));
        proved += bound > 1;
        topology_fini(&topology);
    }
    assert_true(proved > 100);
}

static void a_lower_bound_is_replaced_only_by_a_better_one(void **state)
{
    struct topology topology;
    struct bisection bisection;
    struct distance_tally tally = {0};
    example_complete(&topology, 26);
    assert_int_equal(distance_tally_add(&tally, &topology, 0, 26, NULL), OK);
    assert_int_equal(bisection_bracket(&bisection, &topology, 1, NULL), OK);
    bisection.lower = 168;
    assert_int_equal(bisection_raise(&bisection, &topology, &tally, NULL), OK);
    assert_int_equal(bisection.lower, 169);
    assert_string_equal(bisection.lower_method, "distances");
    bisection.lower_method = "mine";
    assert_int_equal(bisection_raise(&bisection, &topology, &tally, NULL), OK);
    assert_string_equal(bisection.lower_method, "mine");
    bisection_fini(&bisection);
    distance_tally_fini(&tally);
    topology_fini(&topology);
}

static void the_bound_is_0_if_a_halving_need_not_cut_a_cable(void **state)
{
    struct topology topology;
    example_make(&topology, 5, NULL, 0);
    assert_int_equal(lower(&topology), 0);
    topology_fini(&topology);
    example_spec(&topology, "torus:6x6");
    for (uint32_t v = 0; v < 36; v++)
        topology.sites[v].servers = v == 8 ? 5 : 0;
    topology_count_servers(&topology);
    assert_int_equal(lower(&topology), 0);
    topology_fini(&topology);
}

TEST_MAIN(TEST(complete_graphs_are_bounded_exactly),
          TEST(the_bound_of_moore_graphs_follows_the_formula),
          TEST(the_bound_of_rings_follows_the_formula), TEST(no_halving_is_smaller_than_the_bound),
          TEST(a_lower_bound_is_replaced_only_by_a_better_one),
          TEST(the_bound_is_0_if_a_halving_need_not_cut_a_cable))
