#include "base/id_map.h"

#include <stdio.h>

#include "base/rng.h"
#include "base/test.h"

#define IDS 512

static void agrees_with_an_array_under_random_changes(void **state)
{
    const uint64_t seed = 11;
    static int values[IDS];
    void *model[IDS] = {0};
    struct id_map map = {0};
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (unsigned step = 0; step < 200000; step++) {
        uint64_t at = rng_below(&rng, IDS);
        uint64_t id = at % 2 ? at << 40 : at; /* some dense, some far apart */
        switch (rng_below(&rng, 3)) {
        case 0:
            model[at] = &values[rng_below(&rng, IDS)];
            assert_true(id_map_put(&map, id, model[at]));
            break;
        case 1:
            assert_ptr_equal(id_map_take(&map, id), model[at]);
            model[at] = NULL;
            break;
        default:
            assert_ptr_equal(id_map_get(&map, id), model[at]);
        }
    }
    size_t live = 0;
    for (unsigned at = 0; at < IDS; at++)
        live += model[at] != NULL;
    assert_int_equal(map.count, live);
    size_t cursor = 0;
    size_t walked = 0;
    while (id_map_next(&map, &cursor))
        walked++;
    assert_int_equal(walked, live);
    id_map_fini(&map);
}

static void an_empty_map_holds_nothing(void **state)
{
    struct id_map map = {0};
    size_t cursor = 0;
    assert_null(id_map_get(&map, 0));
    assert_null(id_map_take(&map, 7));
    assert_null(id_map_next(&map, &cursor));
    id_map_fini(&map);
}

TEST_MAIN(TEST(agrees_with_an_array_under_random_changes), TEST(an_empty_map_holds_nothing))
