#include "flow/bisection/chebyshev.h"

#include <math.h>

#include "base/test.h"
#include "flow/bisection/example.h"

static double bound_of(const struct topology *topology, double low, double high, uint32_t steps)
{
    double bound = -1;
    assert_int_equal(
        chebyshev_second(&topology->graph, low, high, steps, (struct observer){0}, &bound, NULL),
        OK);
    return bound;
}

/* For any estimate the bound is below the eigenvalue; with a good estimate it comes near as the
 * number of steps grows. */
static void known_eigenvalues_are_bounded(void **state)
{
    static const struct {
        const char *spec;
        double second, last, near;
    } known[] = {
        {"torus:2x2x2x2x2x2", 2, 12, 1.9},
        {"torus:16", 0.152240934977427, 4, 0.14},
        {"degree-diameter:10,3,2", 2, 5, 1.99},
        {"degree-diameter:50,7,2", 5, 10, 4.99},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        example_spec(&topology, known[i].spec);
        double second = known[i].second, last = known[i].last;
        assert_true(bound_of(&topology, second, last, 40) > known[i].near);
        for (double low = 0; low < 2 * second; low += second / 7)
            for (double high = last / 2 + second; high < 2 * last; high += last / 3)
                for (uint32_t steps = 1; steps < 60; steps += 7)
                    assert_true(bound_of(&topology, low, high, steps) <= second + 1e-12);
        topology_fini(&topology);
    }
}

static void more_steps_prove_more(void **state)
{
    struct topology topology;
    example_spec(&topology, "torus:2x2x2x2x2x2");
    double few = bound_of(&topology, 2, 12, 10), more = bound_of(&topology, 2, 12, 30);
    assert_true(few > 0.5 && few < more && more < 2);
    topology_fini(&topology);
}

static void a_disconnected_graph_has_no_bound(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    struct topology topology;
    example_make(&topology, 4, links, 2);
    for (uint32_t steps = 1; steps < 20; steps++)
        assert_true(bound_of(&topology, 1, 2, steps) == 0);
    topology_fini(&topology);
}

TEST_MAIN(TEST(known_eigenvalues_are_bounded), TEST(more_steps_prove_more),
          TEST(a_disconnected_graph_has_no_bound))
