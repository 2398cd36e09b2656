#pragma once
/* arena_cases: an arena with room for a given number of pieces of one cache line, and no more. For
 * tests only: they refuse each allocation in turn. */

#include <stdlib.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/test.h"

struct scant {
    struct arena_source source;
    struct arena arena;
    bool given;   /* its only block was handed out */
    bool refused; /* a second block was requested */
};

static inline void *scant_take(struct arena_source *source, size_t size)
{
    struct scant *scant = container_of(source, struct scant, source);
    scant->refused = scant->given;
    scant->given = true;
    return scant->refused ? NULL : aligned_alloc(ARENA_ALIGN, size);
}

static inline void scant_give(struct arena_source *source, void *block, size_t size)
{
    free(block);
}

static inline void scant_open(struct scant *scant, unsigned pieces)
{
    enum { BLOCK = 64 * 1024 - ARENA_ALIGN }; /* the capacity of the first block */
    *scant = (struct scant){.source = {.take = scant_take, .give = scant_give}};
    scant->arena.source = &scant->source;
    assert_non_null(arena_take(&scant->arena, BLOCK - (size_t)pieces * ARENA_ALIGN));
}

/* Asserts that the work succeeded if and only if no allocation was refused; returns whether it
 * did. */
static inline bool scant_close(struct scant *scant, bool worked)
{
    assert_true(worked == !scant->refused);
    arena_fini(&scant->arena);
    return worked;
}
