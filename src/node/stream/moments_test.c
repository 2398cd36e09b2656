/* Checks the heap of moments by a plain search. */
#include "node/stream/moments.h"

#include "base/rng.h"
#include "base/test.h"

#define ITEMS 40

static void the_first_is_the_one_that_a_search_finds(void **state)
{
    struct moments moments;
    struct moments_item items[ITEMS];
    uint32_t heap[ITEMS];
    env_nsec due[ITEMS];
    struct rng rng = rng_make(2, 2);
    moments_init(&moments, items, heap, ITEMS);
    for (unsigned i = 0; i < ITEMS; i++)
        due[i] = ENV_NEVER;
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t item = (uint32_t)rng_below(&rng, ITEMS);
        due[item] = rng_below(&rng, 3) ? (env_nsec)rng_below(&rng, 100) : ENV_NEVER;
        moments_set(&moments, item, due[item]);
        uint32_t first = MOMENTS_NONE;
        for (uint32_t i = 0; i < ITEMS; i++)
            if (due[i] != ENV_NEVER && (first == MOMENTS_NONE || due[i] < due[first]))
                first = i;
        assert_int_equal(moments_first(&moments), first);
        assert_true(moments_next(&moments) == (first == MOMENTS_NONE ? ENV_NEVER : due[first]));
    }
}

TEST_MAIN(TEST(the_first_is_the_one_that_a_search_finds))
