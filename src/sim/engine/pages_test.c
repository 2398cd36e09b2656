/* Checks that pieces are aligned and do not overlap, and that returned memory is reused. */
#include "sim/engine/pages.h"

#include <stdint.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define LIVE 64

struct piece {
    uint8_t *memory;
    size_t size;
    uint8_t mark;
};

static void piece_take(struct pages *pages, struct rng *rng, struct piece *piece, uint8_t mark)
{
    static const size_t sizes[] = {1, 64, 65536, 100000, PAGES_REGION, 2 * PAGES_REGION + 1};
    size_t alignment = (size_t)ARENA_ALIGN << rng_below(rng, 13); /* up to 256 KiB */
    piece->size = sizes[rng_below(rng, sizeof sizes / sizeof *sizes)];
    piece->memory = pages_take(pages, piece->size, alignment);
    piece->mark = mark;
    assert_non_null(piece->memory);
    assert_int_equal((uintptr_t)piece->memory % alignment, 0);
    memset(piece->memory, mark, piece->size);
}

static void piece_give(struct pages *pages, struct piece *piece)
{
    for (size_t i = 0; i<piece->size; i += piece->size> 4096 ? 251 : 1)
        assert_int_equal(piece->memory[i], piece->mark);
    assert_int_equal(piece->memory[piece->size - 1], piece->mark);
    pages_give(pages, piece->memory, piece->size);
    piece->memory = NULL;
}

static void pieces_do_not_overlap(void **state)
{
    struct pages pages;
    struct piece pieces[LIVE] = {0};
    struct rng rng = rng_make(5, 0);
    pages_init(&pages);
    for (unsigned turn = 0; turn < 600; turn++) {
        struct piece *piece = &pieces[rng_below(&rng, LIVE)];
        if (piece->memory)
            piece_give(&pages, piece);
        else
            piece_take(&pages, &rng, piece, (uint8_t)(turn % 251 + 1));
    }
    for (unsigned i = 0; i < LIVE; i++)
        if (pieces[i].memory)
            piece_give(&pages, &pieces[i]);
    pages_fini(&pages);
}

static void equal_allocations_reuse_the_same_memory(void **state)
{
    struct pages pages;
    size_t once = 0;
    pages_init(&pages);
    for (unsigned life = 0; life < 50; life++) {
        struct arena arena = {.source = &pages.source};
        for (unsigned i = 0; i < 40; i++)
            assert_non_null(arena_take(&arena, 1000 + 9000 * (i % 9)));
        arena_fini(&arena);
        once = life ? once : pages.memory;
        assert_int_equal(pages.memory, once);
    }
    assert_null(pages_take(&pages, SIZE_MAX - 5, 64));
    pages_fini(&pages);
    assert_int_equal(pages.memory, 0);
}

TEST_MAIN(TEST(pieces_do_not_overlap), TEST(equal_allocations_reuse_the_same_memory))
