#include "flow/bisection/refine.h"

#include <stdlib.h>

#include "base/test.h"
#include "flow/bisection/bisection.h"
#include "flow/bisection/example.h"

static uint64_t refined(const struct topology *topology, uint8_t *side)
{
    struct halving halving;
    struct refine refine;
    assert_int_equal(halving_init(&halving, topology, NULL), OK);
    assert_int_equal(refine_init(&refine, &topology->graph, &halving, NULL), OK);
    uint64_t cut = refine_run(&refine, side);
    assert_true(halving_holds(&halving, side));
    assert_int_equal(cut, bisection_cut(topology, side));
    refine_fini(&refine);
    halving_fini(&halving);
    return cut;
}

static void any_sides_become_halves(void **state)
{
    print_message("# seed 31\n");
    struct rng rng = rng_make(31, 0);
    for (int round = 0; round < 300; round++) {
        struct topology topology;
        uint8_t side[40];
        uint32_t nodes = 1 + (uint32_t)rng_below(&rng, 40);
        /* Many weights, so that there may be more classes than REFINE_CLASS_MAX. */
        example_random(&topology, nodes, 3 * nodes, true, (uint32_t)rng_below(&rng, 30), &rng);
        for (uint32_t v = 0; v < nodes; v++)
            side[v] = rng_below(&rng, 4) == 0;
        refined(&topology, side);
        topology_fini(&topology);
    }
}

static void halves_never_get_worse(void **state)
{
    print_message("# seed 32\n");
    struct rng rng = rng_make(32, 0);
    for (int round = 0; round < 100; round++) {
        struct topology topology;
        uint8_t side[30];
        example_random(&topology, 30, 90, false, 0, &rng);
        for (uint32_t v = 0; v < 30; v++)
            side[v] = v & 1;
        uint64_t before = bisection_cut(&topology, side);
        assert_true(refined(&topology, side) <= before);
        topology_fini(&topology);
    }
}

static void two_cliques_are_separated(void **state)
{
    struct link links[EXAMPLE_LINK_MAX];
    uint32_t count = 0;
    for (uint32_t a = 0; a < 20; a++) /* even and odd nodes, with one cable between the cliques */
        for (uint32_t b = a + 2; b < 20; b += 2)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    links[count++] = (struct link){4, 7, PORT_ANY, PORT_ANY};
    struct topology topology;
    uint8_t side[20];
    example_make(&topology, 20, links, count);
    for (uint32_t v = 0; v < 20; v++)
        side[v] = v < 9;
    assert_int_equal(refined(&topology, side), 1);
    topology_fini(&topology);
}

static void small_graphs_are_mostly_solved(void **state)
{
    print_message("# seed 33\n");
    struct rng rng = rng_make(33, 0);
    int solved = 0;
    for (int round = 0; round < 100; round++) {
        struct topology topology;
        uint8_t side[12];
        example_random(&topology, 12, 24, true, 0, &rng);
        uint64_t least = UINT64_MAX, smallest = example_smallest(&topology);
        for (int start = 0; start < 8; start++) {
            for (uint32_t v = 0; v < 12; v++)
                side[v] = rng_next(&rng) & 1;
            uint64_t cut = refined(&topology, side);
            assert_true(cut >= smallest);
            least = cut < least ? cut : least;
        }
        solved += least == smallest;
        topology_fini(&topology);
    }
    assert_true(solved >= 95);
}

TEST_MAIN(TEST(any_sides_become_halves), TEST(halves_never_get_worse),
          TEST(two_cliques_are_separated), TEST(small_graphs_are_mostly_solved))
