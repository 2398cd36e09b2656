#pragma once
/* row: the words of a row, and the order in which they are written and read.
 *
 * A row has one writer. Everything in it is a word of 8 bytes, stored and loaded whole, so
 * that nobody sees half of a number. What is wider is under a sequence word: odd while it
 * changes, then the next even number. The order is made by fences, one for many stores: a store
 * with release of its own would wait for all earlier ones to leave the processor, row by
 * row.
 *
 *   a number        fence, cell, fence, row sequence + 2
 *   several columns row sequence odd, sequences of the wide ones odd, fence, elements and
 *                   numbers, fence, sequences of the wide ones even, fence, guard, fence,
 *                   row sequence even
 *
 * The first fence is what makes an earlier put visible before this one. Readers do
 * it backwards: sequence, (acquire), words, (acquire), sequence.
 *
 * ThreadSanitizer knows no fences: for it every store releases and every load acquires.
 * tests/sst_guard.c looks whether the order holds; tests/sst_guard_weak.c breaks it, to show that
 * this would be seen. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sst/table/schema.h"

#if defined(__SANITIZE_THREAD__)
#define ROW_STORE         memory_order_release
#define ROW_LOAD          memory_order_acquire
#define row_fence_store() ((void)0)
#define row_fence_load()  ((void)0)
#else
#define ROW_STORE         memory_order_relaxed
#define ROW_LOAD          memory_order_relaxed
#define row_fence_store() atomic_thread_fence(memory_order_release)
#define row_fence_load()  atomic_thread_fence(memory_order_acquire)
#endif

static inline uint64_t row_load(const uint8_t *row, size_t offset)
{
    return atomic_load_explicit((const _Atomic uint64_t *)(const void *)(row + offset), ROW_LOAD);
}

static inline void row_store(uint8_t *row, size_t offset, uint64_t word)
{
    atomic_store_explicit((_Atomic uint64_t *)(void *)(row + offset), word, ROW_STORE);
}

/* The same, behind all that was stored before. */
static inline void row_store_behind(uint8_t *row, size_t offset, uint64_t word)
{
    row_fence_store();
    row_store(row, offset, word);
}

/* Words between a row and memory of anybody's, one by one: their count times 8 is the size. */
static inline void row_store_words(uint8_t *cells, const uint8_t *from, uint32_t size)
{
    for (uint32_t at = 0; at < size; at += 8) {
        uint64_t word;
        memcpy(&word, from + at, sizeof word);
        row_store(cells, at, word);
    }
}

static inline void row_load_words(uint8_t *to, const uint8_t *cells, uint32_t size)
{
    for (uint32_t at = 0; at < size; at += 8) {
        uint64_t word = row_load(cells, at);
        memcpy(to + at, &word, sizeof word);
    }
}

#define ROW_SEQUENCE offsetof(struct row_head, sequence)
#define ROW_BARRIER  offsetof(struct row_head, barrier)
#define ROW_ASLEEP   offsetof(struct row_head, asleep)

/* Words of a row that change together. */
struct span {
    uint32_t watch;  /* the sequence word of a wide column, or 0: numbers */
    uint32_t offset; /* in the row, a multiple of 8 ... */
    uint32_t size;   /* ... and so is this */
};

/* What one put changes: spans first, then the guard. */
struct change {
    const struct span *spans;
    unsigned span_count;
    uint32_t guard;    /* the cell of the guard, or 0 */
    uint64_t sequence; /* of the row, when all of it is there: even */
};

/* Stores one number: the words of a lone column need no more than that. */
static inline void row_set(uint8_t *row, uint32_t cell, uint64_t word, uint64_t sequence)
{
    row_store_behind(row, cell, word);
    row_store_behind(row, ROW_SEQUENCE, sequence);
}

/* Copies a change from one row to another of the same layout. */
void row_change(uint8_t *to, const uint8_t *from, const struct change *change);

/* Makes one row like the other, head and all. */
void row_copy(uint8_t *to, const uint8_t *from, const struct schema *schema);

/* One look at words under the sequence word at `watch`. False: it met a put, and what was
 * copied is worth nothing. Whoever tries again decides how often: a writer may have died in
 * the middle. */
bool row_read(const uint8_t *row, uint32_t watch, uint32_t offset, uint32_t size, void *to);

/* The words as they are, of a row that nobody writes any more. */
void row_peek(const uint8_t *row, uint32_t offset, uint32_t size, void *to);
