#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/test.h"

static void pieces_are_zeroed_aligned_and_disjoint(void **state)
{
    struct arena arena = {0};
    uint8_t *pieces[300];
    for (unsigned i = 0; i < 300; i++) {
        size_t size = 1 + i * 37;
        pieces[i] = arena_take(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % ARENA_ALIGN, 0);
        for (size_t byte = 0; byte < size; byte++)
            assert_int_equal(pieces[i][byte], 0);
        memset(pieces[i], (int)i % 255 + 1, size);
    }
    for (unsigned i = 0; i < 300; i++)
        for (size_t byte = 0; byte < 1 + i * 37; byte++)
            assert_int_equal(pieces[i][byte], i % 255 + 1);
    assert_true(arena.used >= 300u * 299 / 2 * 37);
    arena_fini(&arena);
    assert_int_equal(arena.used, 0);
}

static void an_allocation_that_is_too_large_is_refused(void **state)
{
    struct arena arena = {0};
    assert_null(arena_take(&arena, SIZE_MAX - 5));
    assert_null(arena_take_array(&arena, SIZE_MAX / 8, 16));
    void *large = arena_take_array(&arena, 1000, 1000);
    assert_non_null(large);
    arena_fini(&arena);
}

TEST_MAIN(TEST(pieces_are_zeroed_aligned_and_disjoint),
          TEST(an_allocation_that_is_too_large_is_refused))
