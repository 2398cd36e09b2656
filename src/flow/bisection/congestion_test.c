#include "flow/bisection/congestion.h"

#include <math.h>

#include "base/test.h"
#include "flow/bisection/example.h"

static double bound_of(const struct topology *topology)
{
    struct halving halving;
    struct cayley cayley;
    double bound = -1;
    assert_int_equal(halving_init(&halving, topology, NULL), OK);
    assert_int_equal(cayley_init(&cayley, topology, NULL), OK);
    assert_int_equal(congestion_lower(&topology->graph, &halving, &cayley, &bound, NULL), OK);
    cayley_fini(&cayley);
    halving_fini(&halving);
    return bound;
}

static void even_tori_are_bounded_exactly(void **state)
{
    static const struct {
        const char *spec;
        double cut;
    } known[] = {{"torus:10", 2}, {"torus:6x6", 12}, {"torus:4x8", 8}, {"torus:4x4x6", 32}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        example_spec(&topology, known[i].spec);
        double one_source = bound_of(&topology);
        topology.axis_count = 0; /* without known symmetry: all sources */
        double all_sources = bound_of(&topology);
        assert_true(fabs(one_source - known[i].cut) < 1e-5);
        assert_true(fabs(all_sources - known[i].cut) < 1e-5);
        topology_fini(&topology);
    }
}

static void complete_graphs_are_bounded_exactly(void **state)
{
    for (uint32_t nodes = 2; nodes < 12; nodes++) {
        struct topology topology;
        example_complete(&topology, nodes);
        uint32_t light = nodes / 2;
        assert_true(fabs(bound_of(&topology) - light * (nodes - light)) < 1e-5);
        topology_fini(&topology);
    }
}

/* Two nodes with three cables between them: each carries a third of the pair. */
static void parallel_cables_share_the_load(void **state)
{
    const struct link links[] = {
        {0, 1, PORT_ANY, PORT_ANY}, {1, 0, PORT_ANY, PORT_ANY}, {0, 1, PORT_ANY, PORT_ANY}};
    struct topology topology;
    example_make(&topology, 2, links, 3);
    assert_true(fabs(bound_of(&topology) - 3) < 1e-5);
    topology_fini(&topology);
}

/* With shortest paths alone, all traffic takes the direct cable; the rounds must also find the
 * longer ways. */
static void crowded_cables_are_avoided(void **state)
{
    /* Nodes 0 and 1 are joined directly and through each of 2, 3, 4, 5, which have no servers: four
     * more paths of two cables. */
    struct link links[9] = {{0, 1, PORT_ANY, PORT_ANY}};
    for (uint32_t v = 2; v < 6; v++) {
        links[2 * v - 3] = (struct link){0, v, PORT_ANY, PORT_ANY};
        links[2 * v - 2] = (struct link){v, 1, PORT_ANY, PORT_ANY};
    }
    struct topology topology;
    example_make(&topology, 6, links, 9);
    for (uint32_t v = 2; v < 6; v++)
        topology.sites[v].servers = 0;
    topology.direct = false;
    topology_count_servers(&topology);
    double bound = bound_of(&topology); /* 1 by shortest paths, 5 at best */
    assert_true(bound > 4.5 && bound <= 5);
    topology_fini(&topology);
}

static void bounds_are_at_most_the_smallest_halving(void **state)
{
    print_message("# seed 51\n");
    struct rng rng = rng_make(51, 0);
    for (int round = 0; round < 100; round++) {
        struct topology topology;
        example_random(&topology, 10, 22, true, round % 4, &rng);
        assert_true(bound_of(&topology) <= (double)example_smallest(&topology));
        topology_fini(&topology);
    }
}

static void a_disconnected_graph_has_no_bound(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}};
    struct topology topology;
    example_make(&topology, 3, links, 1);
    assert_true(bound_of(&topology) == 0);
    topology_fini(&topology);
}

TEST_MAIN(TEST(even_tori_are_bounded_exactly), TEST(complete_graphs_are_bounded_exactly),
          TEST(parallel_cables_share_the_load), TEST(crowded_cables_are_avoided),
          TEST(bounds_are_at_most_the_smallest_halving), TEST(a_disconnected_graph_has_no_bound))
