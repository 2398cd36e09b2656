#pragma once
/* table: the rows as this member has them in memory, and reading them.
 *
 * Nothing here knows how rows travel, and nothing here waits: whatever spreads rows
 * stores into these with the functions of row.h. Pure, so that the same table lives in
 * a simulated node.
 *
 * Invariants: rows[] never holds NULL and an address in it is never unmapped while
 * the table lives, so any thread may read any row at any time; a row without a
 * member reads as zeroes; live is a subset of the rows with a member. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "sst/table/row.h"
#include "sst/table/schema.h"
#include "sst/table/view.h"

/* A table of a program has at most SST_ROWS_MAX rows; one inside a node has one for each server. */
#define TABLE_ROWS_MAX 65536

struct table {
    struct schema schema;
    /* Where the rows are. Stored with release by whoever opens or closes a row, after
     * its memory is ready; loaded with acquire. */
    uint8_t *_Atomic *rows; /* the three arrays are one allocation, which never moves */
    /* Who is a member and lives, a bit each; written by the detector between two
     * passes, with release; evaluations run between those, other threads see each word
     * as it is. */
    _Atomic uint64_t *live;
    _Atomic uint64_t *members;  /* their names; as live */
    uint32_t rows_max;          /* no row from here on is ever live */
    uint32_t live_words;        /* of live[], for loops over rows */
    _Atomic uint64_t epoch;     /* as live, stored last */
    _Atomic uint32_t row_count; /* as live */
    _Atomic uint64_t views;     /* odd while a view changes the four above and rows[];
                                 * written as the sequence of a row */
    _Atomic uint64_t retries;   /* reads that met a put; counted by readers, relaxed */
    uint32_t own;               /* our row; set before anybody reads */
    uint8_t *nothing;           /* a row of zeroes, for rows without a member */
};

/* At most rows_max rows, 1 .. TABLE_ROWS_MAX. The arrays have room for SST_ROWS_MAX at least, so
 * that a program may ask for any such row. -ENOMEM. The schema is copied. */
MUST_CHECK int table_init(struct table *table, const struct schema *schema, uint32_t rows_max);
void table_fini(struct table *table);

static inline const uint8_t *table_row(const struct table *table, uint32_t row)
{
    return atomic_load_explicit(&table->rows[row], memory_order_acquire);
}

static inline bool table_is_live(const struct table *table, uint32_t row)
{
    return row < table->rows_max &&
           atomic_load_explicit(&table->live[bitset_word(row)], memory_order_acquire) &
               bitset_bit(row);
}

/* Is what was read of the view (all that `views` counts) of one view? Begin, read, then ask whether
 * the same number still stands; an odd one never does. */
static inline uint64_t table_view_begin(const struct table *table)
{
    return atomic_load_explicit(&table->views, memory_order_acquire);
}

static inline bool table_view_stands(const struct table *table, uint64_t views)
{
    row_fence_load();
    return !(views & 1) && atomic_load_explicit(&table->views, memory_order_relaxed) == views;
}

/* The live rows one after the other:
 *   for (uint32_t row = 0; table_next_live(table, &row); row++) */
static inline bool table_next_live(const struct table *table, uint32_t *row)
{
    for (uint32_t at = *row; at < table->rows_max; at = (at / 64 + 1) * 64) {
        uint64_t rest =
            atomic_load_explicit(&table->live[at / 64], memory_order_acquire) >> at % 64;
        if (rest) {
            *row = at + (uint32_t)__builtin_ctzll(rest);
            return true;
        }
    }
    return false;
}

/* The cell of a number (schema_is_number), as schema_widen makes it; acquires. */
static inline uint64_t table_cell(const struct table *table, uint32_t row, uint32_t cell)
{
    return atomic_load_explicit(
        (const _Atomic uint64_t *)(const void *)(table_row(table, row) + cell),
        memory_order_acquire);
}
