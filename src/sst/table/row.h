#pragma once
/* row: the words of a row, and the order in which they are written and read.
 *
 * A row has one writer. Everything in it is a word of 8 bytes, which is stored and loaded as a
 * whole, so that no reader sees half of a number. Wider columns have a sequence word: it is odd
 * while the column changes, and the next even number afterwards. Fences make the order, one for
 * many stores: a release store for each word would wait, row by row, until all earlier stores have
 * left the processor.
 *
 *   a number        fence, cell, fence, row sequence + 2
 *   several columns row sequence odd, sequences of wide columns odd, fence, elements and
 *                   numbers, fence, sequences of wide columns even, fence, guard, fence,
 *                   row sequence even
 *
 * The first fence makes an earlier put visible before this one. Readers go the opposite way:
 * sequence, (acquire), words, (acquire), sequence.
 *
 * ThreadSanitizer does not understand fences: under it every store releases and every load
 * acquires. tests/sst_guard.c checks that the order holds; tests/sst_guard_weak.c breaks the order
 * to show that the check would notice. */

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

/* Stores a word so that it becomes visible after all earlier stores. */
static inline void row_store_behind(uint8_t *row, size_t offset, uint64_t word)
{
    row_fence_store();
    row_store(row, offset, word);
}

/* Copy words between a row and private memory, word by word. `size` is in bytes, a multiple of
 * 8. */
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
    uint32_t watch;  /* the sequence word of a wide column; 0 for numbers */
    uint32_t offset; /* in the row, a multiple of 8 */
    uint32_t size;   /* a multiple of 8 */
};

/* The changes of one put: spans first, then the guard. */
struct change {
    const struct span *spans;
    unsigned span_count;
    uint32_t guard;    /* the cell of the guard, or 0 */
    uint64_t sequence; /* of the row after the put: even */
};

/* Stores one number. A put of a single number needs no more. */
static inline void row_set(uint8_t *row, uint32_t cell, uint64_t word, uint64_t sequence)
{
    row_store_behind(row, cell, word);
    row_store_behind(row, ROW_SEQUENCE, sequence);
}

/* Copies a change from one row to another of the same layout. */
void row_change(uint8_t *to, const uint8_t *from, const struct change *change);

/* Makes the row `to` equal to `from`, including the head. */
void row_copy(uint8_t *to, const uint8_t *from, const struct schema *schema);

/* Reads words under the sequence word at `watch` once. False: the read overlapped with a put, and
 * the copied bytes are useless. The caller decides how often to retry: a writer may have died in
 * the middle of a put. */
bool row_read(const uint8_t *row, uint32_t watch, uint32_t offset, uint32_t size, void *to);

/* Reads the words of a row that has no writer any more. */
void row_peek(const uint8_t *row, uint32_t offset, uint32_t size, void *to);
