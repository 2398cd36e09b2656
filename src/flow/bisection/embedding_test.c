#include "flow/bisection/embedding.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "flow/bisection/cayley.h"
#include "flow/bisection/example.h"
#include "flow/bisection/exhaustive.h"
#include "flow/bisection/spectral.h"

static double bound_of(const struct topology *topology)
{
    struct halving halving;
    struct cayley cayley;
    double eigenvalue = -1;
    assert_int_equal(halving_init(&halving, topology, NULL), OK);
    assert_int_equal(cayley_init(&cayley, topology, NULL), OK);
    assert_true(cayley.holds);
    assert_int_equal(embedding_eigenvalue(topology, &eigenvalue, NULL), OK);
    double bound = spectral_bound(&halving, eigenvalue, eigenvalue);
    cayley_fini(&cayley);
    halving_fini(&halving);
    return bound;
}

static void small_networks_are_not_bounded_too_high(void **state)
{
    static const char *specs[] = {"torus:3",      "torus:8",      "torus:13",      "torus:3x3",
                                  "torus:3x5",    "torus:2x9",    "torus:4x4",     "torus:2x2x4",
                                  "torus:3x3x2",  "torus:4x5",    "torus:2x2x2x2", "torus:1x7",
                                  "novacube:4",   "novacube:6",   "novacube:8",    "novacube:10",
                                  "novacube:12",  "novacube:14",  "novacube:2x2",  "novacube:2x4",
                                  "novacube:2x6", "novacube:4x4", "novacube:2x2x2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        struct halving halving;
        uint8_t side[EXHAUSTIVE_NODE_MAX];
        example_spec(&topology, specs[i]);
        assert_int_equal(halving_init(&halving, &topology, NULL), OK);
        double smallest = (double)exhaustive_find(&topology.graph, &halving, side);
        double bound = bound_of(&topology);
        if (bound > smallest + 1e-9 || bound < 0.7 * smallest)
            fail_msg("%s: bound %g, smallest halving %g", specs[i], bound, smallest);
        halving_fini(&halving);
        topology_fini(&topology);
    }
}

/* The values are those of the same linear program from another solver. */
static void the_linear_program_has_its_known_values(void **state)
{
    static const struct {
        const char *spec;
        double bound;
    } known[] = {{"novacube:6", 4.5},    {"novacube:10", 4.16667},     {"novacube:4x4", 16},
                 {"novacube:6x6", 21.6}, {"novacube:8x8", 27.9123},    {"novacube:12x12", 41.284},
                 {"novacube:4x4x4", 64}, {"novacube:8x8x8", 223.2987}, {"torus:8x8", 16},
                 {"torus:8x6x4", 48}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        example_spec(&topology, known[i].spec);
        assert_true(fabs(bound_of(&topology) - known[i].bound) < 1e-4);
        topology_fini(&topology);
    }
}

static void the_order_of_the_axes_does_not_matter(void **state)
{
    struct topology one, other;
    example_spec(&one, "novacube:4x6x4");
    example_spec(&other, "novacube:6x4x4");
    assert_true(fabs(bound_of(&one) - bound_of(&other)) < 1e-6);
    topology_fini(&one);
    topology_fini(&other);
}

/* Cables that are neither steps nor jumps: a ring with cables also to the next node but one. */
static void other_networks_get_no_bound(void **state)
{
    struct link links[30];
    struct topology topology;
    for (uint32_t v = 0; v < 30; v++)
        links[v] = (struct link){v % 15, (v % 15 + 1 + v / 15) % 15, PORT_ANY, PORT_ANY};
    example_make(&topology, 15, links, 30);
    topology.axis_count = 1;
    topology.axis_size[0] = 15;
    assert_true(bound_of(&topology) == 0);
    topology_fini(&topology);
    /* Rows that no cable joins. */
    for (uint32_t v = 0; v < 15; v++)
        links[v] = (struct link){v, v / 5 * 5 + (v + 1) % 5, PORT_ANY, PORT_ANY};
    example_make(&topology, 15, links, 15);
    topology.axis_count = 2;
    topology.axis_size[0] = 5;
    topology.axis_size[1] = 3;
    assert_true(bound_of(&topology) == 0);
    topology_fini(&topology);
}

TEST_MAIN(TEST(small_networks_are_not_bounded_too_high),
          TEST(the_linear_program_has_its_known_values),
          TEST(the_order_of_the_axes_does_not_matter), TEST(other_networks_get_no_bound))
