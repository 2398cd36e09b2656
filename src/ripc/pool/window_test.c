#include "ripc/pool/window.h"

#include <errno.h>

#include "base/rng.h"
#include "base/test.h"

static void the_smallest_sufficient_window_is_taken_and_of_equal_ones_the_oldest(void **state)
{
    struct windows windows = {0};
    static char memory[1000];
    size_t size;
    assert_int_equal(windows_add(&windows, memory, 300), 0);
    assert_int_equal(windows_add(&windows, memory + 300, 100), 0);
    assert_int_equal(windows_add(&windows, memory + 400, 200), 0);
    assert_int_equal(windows_add(&windows, memory + 600, 100), 0);
    assert_int_equal(windows.count, 4);
    assert_null(windows_take(&windows, 301, &size));
    assert_ptr_equal(windows_take(&windows, 50, &size), memory + 300);
    assert_int_equal(size, 100);
    assert_ptr_equal(windows_take(&windows, 100, &size), memory + 600);
    assert_ptr_equal(windows_take(&windows, 201, &size), memory);
    assert_ptr_equal(windows_take(&windows, 0, &size), memory + 400);
    assert_int_equal(windows.count, 0);
    assert_null(windows_take(&windows, 0, &size));
    windows_fini(&windows);
}

static void invalid_windows_are_refused(void **state)
{
    struct windows windows = {0};
    static char memory[100];
    assert_int_equal(windows_add(&windows, memory, 0), -EINVAL);
    assert_int_equal(windows_add(&windows, NULL, 10), -EINVAL);
    assert_int_equal(windows_add(&windows, memory, SIZE_MAX), -EINVAL);
    assert_int_equal(windows_add(&windows, memory + 10, 10), 0);
    assert_int_equal(windows_add(&windows, memory, 11), -EEXIST);
    assert_int_equal(windows_add(&windows, memory + 19, 1), -EEXIST);
    assert_int_equal(windows_add(&windows, memory, 100), -EEXIST);
    assert_int_equal(windows_add(&windows, memory + 12, 2), -EEXIST);
    assert_int_equal(windows_add(&windows, memory, 10), 0);
    assert_int_equal(windows_add(&windows, memory + 20, 10), 0);
    assert_int_equal(windows_remove(&windows, memory + 1), -ENOENT);
    assert_int_equal(windows_remove(&windows, memory), 0);
    assert_int_equal(windows_remove(&windows, memory), -ENOENT);
    assert_int_equal(windows.count, 2);
    windows_fini(&windows);
    assert_null(windows.first);
    windows_fini(&windows);
}

/* The model: an array in order of age; the answer is found by searching all of it. */
static void random_calls_agree_with_a_model(void **state)
{
    enum { SPOTS = 40, SPOT = 64, SEED = 5 };
    static char memory[SPOTS * SPOT];
    size_t sizes[SPOTS] = {0}, ages[SPOTS] = {0};
    struct windows windows = {0};
    struct rng rng = rng_make(SEED, 0);
    print_message("# seed %d\n", SEED);
    for (size_t turn = 1; turn <= 20000; turn++) {
        size_t spot = (size_t)rng_below(&rng, SPOTS);
        if (rng_below(&rng, 2)) {
            size_t size = 1 + (size_t)rng_below(&rng, SPOT), found = 0, best = SPOTS;
            for (size_t i = 0; i < SPOTS; i++)
                if (sizes[i] >= size && (best == SPOTS || sizes[i] < sizes[best] ||
                                         (sizes[i] == sizes[best] && ages[i] < ages[best])))
                    best = i;
            void *base = windows_take(&windows, size, &found);
            assert_ptr_equal(base, best == SPOTS ? NULL : memory + best * SPOT);
            if (best == SPOTS)
                continue;
            assert_int_equal(found, sizes[best]);
            sizes[best] = 0;
        } else if (sizes[spot] && rng_below(&rng, 3) == 0) {
            assert_int_equal(windows_remove(&windows, memory + spot * SPOT), 0);
            sizes[spot] = 0;
        } else {
            size_t size = 1 + (size_t)rng_below(&rng, SPOT);
            int result = windows_add(&windows, memory + spot * SPOT, size);
            assert_int_equal(result, sizes[spot] ? -EEXIST : 0);
            if (result == 0) {
                sizes[spot] = size;
                ages[spot] = turn;
            }
        }
    }
    windows_fini(&windows);
}

TEST_MAIN(TEST(the_smallest_sufficient_window_is_taken_and_of_equal_ones_the_oldest),
          TEST(invalid_windows_are_refused), TEST(random_calls_agree_with_a_model))
