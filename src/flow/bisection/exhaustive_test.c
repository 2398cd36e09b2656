#include "flow/bisection/exhaustive.h"

#include "base/test.h"
#include "flow/bisection/bisection.h"
#include "flow/bisection/example.h"

static void random_graphs_and_weights_agree_with_the_definition(void **state)
{
    print_message("# seed 21\n");
    struct rng rng = rng_make(21, 0);
    for (int round = 0; round < 200; round++) {
        struct topology topology;
        struct halving halving;
        uint8_t side[EXHAUSTIVE_NODE_MAX];
        uint32_t nodes = 1 + (uint32_t)rng_below(&rng, 11);
        example_random(&topology, nodes, (uint32_t)rng_below(&rng, 3 * nodes), round & 1,
                       (uint32_t)rng_below(&rng, 4), &rng);
        assert_int_equal(halving_init(&halving, &topology, NULL), OK);
        uint64_t cut = exhaustive_find(&topology.graph, &halving, side);
        assert_int_equal(cut, example_smallest(&topology));
        assert_int_equal(cut, bisection_cut(&topology, side));
        assert_true(halving_holds(&halving, side));
        halving_fini(&halving);
        topology_fini(&topology);
    }
}

TEST_MAIN(TEST(random_graphs_and_weights_agree_with_the_definition))
