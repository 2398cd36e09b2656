#include "flow/bisection/structured.h"

#include "base/test.h"
#include "flow/bisection/example.h"

/* The best cut from coordinates alone. */
static uint64_t cut_of(const char *spec, bool coordinates)
{
    struct topology topology;
    struct halving halving;
    struct search search;
    example_spec(&topology, spec);
    if (!coordinates)
        topology.axis_count = 0;
    assert_int_equal(halving_init(&halving, &topology, NULL), OK);
    assert_int_equal(search_init(&search, &topology, &halving, 1, NULL), OK);
    assert_int_equal(structured_search(&search, NULL), OK);
    uint64_t cut = search.cut;
    search_fini(&search);
    halving_fini(&halving);
    topology_fini(&topology);
    return cut;
}

static void hyperplanes_halve_tori(void **state)
{
    assert_int_equal(cut_of("torus:6x10", true), 12);
    assert_int_equal(cut_of("torus:4x8x6", true), 48);
    assert_int_equal(cut_of("torus:7x7", true), 16);
    assert_int_equal(cut_of("torus:5x5x5", true), 62);
}

static void no_jump_crosses_the_cut_of_a_novacube(void **state)
{
    assert_int_equal(cut_of("novacube:14x14", true), 56);
    assert_int_equal(cut_of("novacube:8x8x8", true), 256);
    assert_int_equal(cut_of("novacube:20x20", true), 80);
    assert_int_equal(cut_of("novacube:36x36", true), 144);
}

static void without_coordinates_there_is_no_cut(void **state)
{
    assert_int_equal(cut_of("torus:6x6", false), UINT64_MAX);
}

TEST_MAIN(TEST(hyperplanes_halve_tori), TEST(no_jump_crosses_the_cut_of_a_novacube),
          TEST(without_coordinates_there_is_no_cut))
