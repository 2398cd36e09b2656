#include "flow/bisection/walks.h"

#include <math.h>

#include "base/test.h"
#include "flow/bisection/example.h"

static double bound_of(const struct topology *topology, uint32_t steps)
{
    double bound = -1;
    assert_int_equal(walks_second(&topology->graph, steps, &bound, NULL), OK);
    return bound;
}

/* With any number of steps the bound is at most the eigenvalue. It approaches d - 2 sqrt(d - 1),
 * the value of the infinite tree, and is never above that. */
static void known_eigenvalues_are_bounded(void **state)
{
    static const struct {
        const char *spec;
        double second, near;
    } known[] = {
        {"torus:2x2x2x2x2x2", 2, 0},         {"torus:4x4x4", 2, 0},
        {"novacube:4x4", 4, 0.99},           /* 5 - 2 sqrt(4) */
        {"degree-diameter:10,3,2", 2, 0.17}, /* 3 - 2 sqrt(2) */
        {"degree-diameter:50,7,2", 5, 2.1},  /* 7 - 2 sqrt(6) */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        double best = 0;
        example_spec(&topology, known[i].spec);
        for (uint32_t steps = 1; steps <= 8; steps++) {
            double bound = bound_of(&topology, steps);
            assert_true(bound <= known[i].second);
            best = fmax(best, bound);
        }
        assert_true(best >= known[i].near);
        topology_fini(&topology);
    }
}

/* Walks of one cable: the squares of all eigenvalues of the adjacency matrix sum to n d, so every
 * eigenvalue but the first is at most r = sqrt(n d - d^2). The bound is d minus the larger of r and
 * 2 sqrt(d - 1). For the complete graph on 26 nodes r is 5, less than 2 sqrt(24). For the Petersen
 * graph r is sqrt(21), above the degree 3, so nothing is proved. */
static void the_bound_of_one_step_is_that_computed_by_hand(void **state)
{
    struct topology topology;
    example_complete(&topology, 26);
    double bound = bound_of(&topology, 1);
    assert_true(bound > 25 - 2 * sqrt(24) - 1e-6 && bound < 25 - 2 * sqrt(24) + 1e-6);
    topology_fini(&topology);
    example_spec(&topology, "degree-diameter:10,3,2");
    assert_true(bound_of(&topology, 1) == 0);
    topology_fini(&topology);
    example_spec(&topology, "degree-diameter:50,7,2"); /* sqrt(350 - 49) is above 7 */
    assert_true(bound_of(&topology, 1) == 0);
    topology_fini(&topology);
}

/* The second eigenvalue of a random graph is near d - 2 sqrt(d - 1), here 3.07. */
static void random_graphs_are_bounded_well(void **state)
{
    struct topology topology;
    example_spec(&topology, "jellyfish:n=300,degree=10,seed=2");
    assert_true(bound_of(&topology, 6) > 3 && bound_of(&topology, 6) < 4.1);
    topology_fini(&topology);
}

/* 59 * 58^7 walks of each node do not fit into the counts, which must be noticed. */
static void too_many_walks_prove_nothing(void **state)
{
    struct topology topology;
    example_complete(&topology, 60);
    assert_true(bound_of(&topology, 2) > 0);
    assert_true(bound_of(&topology, 8) == 0);
    topology_fini(&topology);
}

static void a_disconnected_or_irregular_graph_has_no_bound(void **state)
{
    struct link links[12];
    struct topology topology;
    uint32_t count = 0;
    for (uint32_t part = 0; part < 8; part += 4) /* two complete graphs on 4 nodes */
        for (uint32_t a = 0; a < 4; a++)
            for (uint32_t b = a + 1; b < 4; b++)
                links[count++] = (struct link){part + a, part + b, PORT_ANY, PORT_ANY};
    example_make(&topology, 8, links, 12);
    for (uint32_t steps = 1; steps <= 8; steps++)
        assert_true(bound_of(&topology, steps) == 0);
    topology_fini(&topology);
    example_make(&topology, 8, links, 11);
    assert_true(bound_of(&topology, 4) == 0);
    assert_int_equal(walks_steps(&topology.graph, 1e9), 0);
    topology_fini(&topology);
    example_spec(&topology, "torus:9"); /* degree 2 */
    assert_true(bound_of(&topology, 4) == 0);
    topology_fini(&topology);
}

static void the_number_of_steps_follows_the_work_allowed(void **state)
{
    struct topology topology;
    example_spec(&topology, "jellyfish:n=3000,degree=10,seed=2");
    assert_int_equal(walks_steps(&topology.graph, 0), 1);
    uint32_t few = walks_steps(&topology.graph, 1e7), more = walks_steps(&topology.graph, 1e8);
    assert_true(few >= 3 && few < more && more == 8);
    topology_fini(&topology);
}

TEST_MAIN(TEST(known_eigenvalues_are_bounded), TEST(the_bound_of_one_step_is_that_computed_by_hand),
          TEST(random_graphs_are_bounded_well), TEST(too_many_walks_prove_nothing),
          TEST(a_disconnected_or_irregular_graph_has_no_bound),
          TEST(the_number_of_steps_follows_the_work_allowed))
