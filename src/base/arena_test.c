#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
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

static void a_large_piece_is_a_zeroed_mapping_that_ends_with_the_arena(void **state)
{
    struct arena arena = {0};
    size_t large = (size_t)4 << 30;
    uint8_t *small = arena_map(&arena, 100), *sparse = arena_map(&arena, large);
    assert_non_null(small);
    assert_non_null(sparse);
    assert_int_equal(arena.mapped, large); /* the small piece is in a block */
    assert_in_range(arena.used, 100, 4096);
    assert_int_equal(sparse[0] | sparse[large / 2] | sparse[large - 1], 0);
    sparse[large - 1] = 1;
    uint8_t *other = arena_map(&arena, ARENA_MAP_MIN);
    assert_non_null(other);
    assert_null(arena_map(&arena, SIZE_MAX / 2 + 1));
    arena_fini(&arena);
    assert_int_equal(arena.mapped, 0);
}

/* A source of mappings that refuses all after the given number. */
struct scarce {
    struct arena_source source;
    unsigned before, mapped, unmapped;
};

static void *scarce_take(struct arena_source *source, size_t size)
{
    return aligned_alloc(ARENA_ALIGN, size);
}

static void scarce_give(struct arena_source *source, void *block, size_t size)
{
    free(block);
}

static void *scarce_map(struct arena_source *source, size_t size)
{
    struct scarce *scarce = (struct scarce *)source;
    if (scarce->mapped == scarce->before)
        return NULL;
    scarce->mapped++;
    return calloc(1, size);
}

static void scarce_unmap(struct arena_source *source, void *memory, size_t size)
{
    ((struct scarce *)source)->unmapped++;
    assert_int_equal(size, ARENA_MAP_MIN);
    free(memory);
}

static void a_source_supplies_mappings_and_gets_them_back(void **state)
{
    struct scarce scarce = {{scarce_take, scarce_give, scarce_map, scarce_unmap}, 2, 0, 0};
    struct arena arena = {.source = &scarce.source};
    assert_non_null(arena_map(&arena, ARENA_MAP_MIN));
    assert_non_null(arena_map(&arena, ARENA_MAP_MIN));
    assert_null(arena_map(&arena, ARENA_MAP_MIN));
    arena_fini(&arena);
    assert_int_equal(scarce.unmapped, 2);
}

TEST_MAIN(TEST(pieces_are_zeroed_aligned_and_disjoint),
          TEST(an_allocation_that_is_too_large_is_refused),
          TEST(a_large_piece_is_a_zeroed_mapping_that_ends_with_the_arena),
          TEST(a_source_supplies_mappings_and_gets_them_back))
