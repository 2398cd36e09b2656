#include "flow/bisection/spectral.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "flow/bisection/example.h"

/* Checks that a sigma just below the second eigenvalue is proved, one just above is not, and the
 * estimate is the eigenvalue. */
static void eigenvalue_check(struct topology *topology, double eigenvalue)
{
    struct halving halving;
    bool proved = false, found = false;
    double sigma = 0, *vector = array_new(topology->graph.node_count, sizeof *vector);
    assert_int_equal(halving_init(&halving, topology, NULL), OK);
    for (double gap = 1e-6; gap < 0.5; gap *= 30) {
        double below = eigenvalue * (1 - gap), above = eigenvalue * (1 + gap);
        assert_int_equal(
            spectral_prove(&topology->graph, &halving, below, 1.01 * below, &proved, NULL), OK);
        assert_true(proved);
        assert_int_equal(
            spectral_prove(&topology->graph, &halving, above, 1.01 * above, &proved, NULL), OK);
        assert_false(proved);
        assert_int_equal(
            spectral_prove(&topology->graph, &halving, above, 1e6 * above, &proved, NULL), OK);
        assert_false(proved);
    }
    assert_int_equal(
        spectral_estimate(&topology->graph, &halving, false, 1, &found, &sigma, vector, NULL), OK);
    assert_true(found);
    assert_true(fabs(sigma - eigenvalue) < 1e-7 * eigenvalue);
    halving_fini(&halving);
    topology_fini(topology);
    free(vector);
}

static void cycles_are_proved_up_to_their_eigenvalue(void **state)
{
    static const uint32_t sizes[] = {5, 32, 101, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char spec[32];
        struct topology topology;
        snprintf(spec, sizeof spec, "torus:%u", sizes[i]);
        example_spec(&topology, spec);
        eigenvalue_check(&topology, 2 - 2 * cos(2 * M_PI / sizes[i]));
    }
}

static void hypercubes_and_complete_graphs_are_proved_up_to_their_eigenvalue(void **state)
{
    struct topology topology;
    example_spec(&topology, "torus:2x2x2x2");
    eigenvalue_check(&topology, 2);
    example_spec(&topology, "torus:2x2x2x2x2x2x2x2");
    eigenvalue_check(&topology, 2);
    example_complete(&topology, 12);
    eigenvalue_check(&topology, 12);
    example_complete(&topology, 75);
    eigenvalue_check(&topology, 75);
}

/* A star whose leaves have the servers: the hub has weight 0, and eliminating it leaves a
 * complete graph whose cables have weight 1/n each. */
static void nodes_without_weight_are_eliminated(void **state)
{
    struct link links[30];
    struct topology topology;
    for (uint32_t v = 0; v < 30; v++)
        links[v] = (struct link){30, v, PORT_ANY, PORT_ANY};
    example_make(&topology, 31, links, 30);
    topology.sites[30].servers = 0;
    topology.direct = false;
    topology_count_servers(&topology);
    eigenvalue_check(&topology, 1);
}

static void bounds_are_at_most_the_smallest_halving(void **state)
{
    print_message("# seed 41\n");
    struct rng rng = rng_make(41, 0);
    int near = 0;
    for (int round = 0; round < 150; round++) {
        struct topology topology;
        struct halving halving;
        bool found;
        double sigma, bound = 0, vector[11];
        example_random(&topology, 11, 25, true, round % 4, &rng);
        assert_int_equal(halving_init(&halving, &topology, NULL), OK);
        assert_int_equal(
            spectral_estimate(&topology.graph, &halving, false, 1, &found, &sigma, vector, NULL),
            OK);
        if (found)
            assert_int_equal(spectral_lower(&topology.graph, &halving, sigma, 1,
                                            (struct observer){0}, &bound, NULL),
                             OK);
        uint64_t smallest = example_smallest(&topology);
        assert_true(bound <= (double)smallest + 1e-9);
        near += bound > 0.5 * (double)smallest;
        halving_fini(&halving);
        topology_fini(&topology);
    }
    assert_true(near > 40); /* the bounds are not trivial */
}

TEST_MAIN(TEST(cycles_are_proved_up_to_their_eigenvalue),
          TEST(hypercubes_and_complete_graphs_are_proved_up_to_their_eigenvalue),
          TEST(nodes_without_weight_are_eliminated), TEST(bounds_are_at_most_the_smallest_halving))
