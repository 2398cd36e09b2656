#pragma once
/* table: this member's copies of all rows in memory, and functions to read them.
 *
 * Nothing here depends on how rows travel, and nothing here waits: the code that spreads rows
 * stores into these copies with the functions of row.h. Pure, so that a simulated node uses the
 * same table.
 *
 * Invariants: rows[] never holds NULL, and an address in it is never unmapped while the table is
 * open, so any thread may read any row at any time; a row without a member reads as zeroes; `live`
 * is a subset of the rows with a member. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "sst/table/row.h"
#include "sst/table/schema.h"
#include "sst/table/view.h"

/* A table of a program has at most SST_ROWS_MAX rows; a table inside a node has one per server. */
#define TABLE_ROWS_MAX 65536

struct table {
    struct schema schema;
    /* The addresses of the rows. The code that opens or closes a row stores its address with
     * release, after its memory is ready; readers load with acquire. */
    uint8_t *_Atomic *rows; /* rows, live and members are one allocation, which never moves */
    /* A bit for each row whose member is alive. The detector writes it with release between two
     * passes. Evaluations run inside a pass, so it does not change under them; other threads see
     * each word as it is at that moment. */
    _Atomic uint64_t *live;
    _Atomic uint64_t *members;  /* the ids of the members; written like `live` */
    uint32_t rows_max;          /* rows from this number on are never live */
    uint32_t live_words;        /* of live[], for loops over rows */
    _Atomic uint64_t epoch;     /* written like `live`, and last */
    _Atomic uint32_t row_count; /* written like `live` */
    _Atomic uint64_t views; /* odd while a view changes live, members, epoch, row_count and rows[];
                               written like the sequence of a row */
    _Atomic uint64_t retries; /* reads that overlapped with a put; readers count, relaxed */
    uint32_t own;             /* our row; set before any thread reads */
    uint8_t *nothing;         /* a row of zeroes, used for rows without a member */
};

/* Makes a table of at most rows_max rows, 1 .. TABLE_ROWS_MAX. The arrays have at least
 * SST_ROWS_MAX entries, so that a program may ask for any such row. Copies the schema. -ENOMEM. */
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

/* Check that several reads saw the same view (all fields that `views` covers): call
 * table_view_begin, read, then call table_view_stands with the number. It returns false if the view
 * changed meanwhile, and always for an odd number. */
static inline uint64_t table_view_begin(const struct table *table)
{
    return atomic_load_explicit(&table->views, memory_order_acquire);
}

static inline bool table_view_stands(const struct table *table, uint64_t views)
{
    row_fence_load();
    return !(views & 1) && atomic_load_explicit(&table->views, memory_order_relaxed) == views;
}

/* Iterates over the live rows:
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

/* Loads the cell of a number (schema_is_number), in the form of schema_widen, with acquire. */
static inline uint64_t table_cell(const struct table *table, uint32_t row, uint32_t cell)
{
    return atomic_load_explicit(
        (const _Atomic uint64_t *)(const void *)(table_row(table, row) + cell),
        memory_order_acquire);
}
