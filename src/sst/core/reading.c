/* reading: the public calls that only read. They never block: if the owner of a row stays in the
 * middle of a put, they give up after a number of tries. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/core/sst_impl.h"
#include "sst/table/aggregate.h"

#define READ_TRIES     1000 /* reads that overlap with puts before we give up */
#define READ_YIELDS    200  /* of those, the last ones yield to the writer */
#define SNAPSHOT_TRIES 100

struct sst_snapshot {
    uint64_t epoch;
    uint64_t live[SST_ROWS_MAX / 64];
    uint32_t row_max;
    size_t row_size;
    uint8_t rows[];
};

/* Returns -EAGAIN if the owner takes too long, or -EIO if the owner died in the middle of a put;
 * then `to` has the words as the owner left them. */
static int words_read(const struct sst *sst, uint32_t row, uint32_t watch, uint32_t offset,
                      uint32_t size, void *to)
{
    /* A fetched row carries puts of many columns at once: all of them become visible together. */
    if (sst_may_tear(sst))
        watch = ROW_SEQUENCE;
    for (unsigned i = 0; i < READ_TRIES; i++) {
        if (row_read(table_row(&sst->table, row), watch, offset, size, to))
            return 0;
        atomic_fetch_add_explicit((_Atomic uint64_t *)&sst->table.retries, 1, memory_order_relaxed);
        if (i < READ_TRIES - READ_YIELDS)
            continue;
        if (!table_is_live(&sst->table, row)) {
            row_peek(table_row(&sst->table, row), offset, size, to);
            return -EIO;
        }
        sched_yield();
    }
    return -EAGAIN;
}

/* Reads the first of several elements, or a number with SST_READS. A thread outside a pass reads
 * the number under the sequence of the row, because a fetch may be changing the row. */
static uint64_t number_slow(const struct sst *sst, uint32_t row, const struct schema_column *of)
{
    uint64_t cell = 0;
    if (!schema_is_number(of)) {
        words_read(sst, row, of->watch, of->cell, SST_SIZE(of->type), &cell);
        return schema_widen(of, &cell);
    }
    if (!share_in_pass(&sst->share) &&
        words_read(sst, row, ROW_SEQUENCE, of->cell, sizeof cell, &cell) == 0)
        return cell;
    return table_cell(&sst->table, row, of->cell);
}

static inline uint64_t number(const struct sst *sst, uint32_t row, uint32_t column)
{
    assert(row < SST_ROWS_MAX && column < sst->table.schema.column_count);
    const struct schema_column *of = &sst->table.schema.columns[column];
    if (schema_is_number(of) && sst->config.design == SST_WRITES)
        return table_cell(&sst->table, row, of->cell);
    return number_slow(sst, row, of);
}

uint64_t sst_get_u64(const struct sst *sst, uint32_t row, uint32_t column)
{
    uint64_t cell = number(sst, row, column);
    const struct schema_column *of = &sst->table.schema.columns[column];
    return of->type == SST_U64 ? cell : cell_u64(of, cell);
}

int64_t sst_get_i64(const struct sst *sst, uint32_t row, uint32_t column)
{
    return cell_i64(&sst->table.schema.columns[column], number(sst, row, column));
}

double sst_get_f64(const struct sst *sst, uint32_t row, uint32_t column)
{
    return cell_f64(&sst->table.schema.columns[column], number(sst, row, column));
}

const void *sst_cells(const struct sst *sst, uint32_t row, uint32_t column)
{
    if (row >= SST_ROWS_MAX || column >= sst->table.schema.column_count)
        return NULL;
    return table_row(&sst->table, row) + sst->table.schema.columns[column].cell;
}

int sst_get(const struct sst *sst, uint32_t row, const struct sst_range *range, void *to)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    if (row >= SST_ROWS_MAX || range->column >= sst->table.schema.column_count)
        return -EINVAL;
    const struct schema_column *column = &sst->table.schema.columns[range->column];
    if (range->first >= column->count || range->count > column->count - range->first)
        return -EINVAL;
    if (schema_is_number(column)) {
        schema_narrow(column, number(sst, row, range->column), to);
        return 0;
    }
    uint32_t size = SST_SIZE(column->type);
    uint32_t elements = range->count ? range->count : column->count - range->first;
    return words_read(sst, row, column->watch, column->cell + range->first * size, elements * size,
                      to);
}

/* Converts a row to the program's struct. */
static void row_unpack(const struct schema *schema, const uint8_t *row, uint8_t *to)
{
    memset(to, 0, schema->struct_size);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (schema_is_number(column))
            schema_narrow(column, row_load(row, column->cell), to + column->offset);
        else
            memcpy(to + column->offset, row + column->cell, column->size);
    }
}

static uint8_t *row_buffer(const struct sst *sst)
{
    return aligned_alloc(SCHEMA_LINE, sst->table.schema.row_size);
}

int sst_row(const struct sst *sst, uint32_t row, void *to)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    if (row >= SST_ROWS_MAX)
        return -EINVAL;
    uint8_t *words = row_buffer(sst);
    if (!words)
        return -ENOMEM;
    int result = words_read(sst, row, ROW_SEQUENCE, 0, sst->table.schema.row_size, words);
    if (result == 0 || result == -EIO)
        row_unpack(&sst->table.schema, words, to);
    free(words);
    return result;
}

/* ---- snapshots ---- */

/* Copies every row, and notes the sequence of each copy. */
static int rows_copy(const struct sst *sst, struct sst_snapshot *snapshot, uint8_t *words,
                     uint64_t *sequences, uint32_t row_count)
{
    for (uint32_t row = 0; row < row_count; row++) {
        int result = words_read(sst, row, ROW_SEQUENCE, 0, sst->table.schema.row_size, words);
        if (result == -EAGAIN)
            return result;
        row_unpack(&sst->table.schema, words, snapshot->rows + row * snapshot->row_size);
        sequences[row] = row_load(words, ROW_SEQUENCE);
    }
    return 0;
}

/* Is every row unchanged since it was copied? Equal sequences do not prove it, because a number is
 * stored before the sequence of its put. An equal second copy does: under one sequence a number
 * changes only once. */
static bool rows_rested(const struct sst *sst, const struct sst_snapshot *snapshot, uint8_t *words,
                        uint8_t *again, const uint64_t *sequences, uint32_t row_count)
{
    row_fence_load();
    for (uint32_t row = 0; row < row_count; row++)
        if (row_load(table_row(&sst->table, row), ROW_SEQUENCE) != sequences[row])
            return false;
    for (uint32_t row = 0; row < row_count; row++) {
        if (words_read(sst, row, ROW_SEQUENCE, 0, sst->table.schema.row_size, words) == -EAGAIN ||
            row_load(words, ROW_SEQUENCE) != sequences[row])
            return false;
        row_unpack(&sst->table.schema, words, again);
        if (memcmp(again, snapshot->rows + row * snapshot->row_size, snapshot->row_size) != 0)
            return false;
    }
    return true;
}

static int snapshot_fill(const struct sst *sst, struct sst_snapshot *snapshot, uint8_t *words,
                         uint8_t *again)
{
    uint64_t sequences[SST_ROWS_MAX];
    for (unsigned i = 0; i < SNAPSHOT_TRIES; i++) {
        uint64_t views = table_view_begin(&sst->table);
        uint32_t row_count = sst_row_count(sst);
        snapshot->epoch = sst_epoch(sst);
        for (unsigned word = 0; word < SST_ROWS_MAX / 64; word++)
            snapshot->live[word] =
                atomic_load_explicit(&sst->table.live[word], memory_order_relaxed);
        int result = rows_copy(sst, snapshot, words, sequences, row_count);
        if (result)
            return result;
        if (views & 1)
            sched_yield();
        else if (rows_rested(sst, snapshot, words, again, sequences, row_count) &&
                 table_view_stands(&sst->table, views))
            return 0;
    }
    return 1;
}

int sst_snapshot_take(const struct sst *sst, struct sst_snapshot **out)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    const struct schema *schema = &sst->table.schema;
    struct sst_snapshot *snapshot =
        calloc(1, sizeof *snapshot + sst->config.rows_max * (size_t)schema->struct_size);
    uint8_t *words = row_buffer(sst);
    uint8_t *again = malloc(schema->struct_size);
    if (!snapshot || !words || !again) {
        free(snapshot);
        free(words);
        free(again);
        return -ENOMEM;
    }
    snapshot->row_size = schema->struct_size;
    snapshot->row_max = sst->config.rows_max;
    int result = snapshot_fill(sst, snapshot, words, again);
    free(words);
    free(again);
    if (result < 0)
        free(snapshot);
    else
        *out = snapshot;
    return result;
}

void sst_snapshot_free(struct sst_snapshot *snapshot)
{
    free(snapshot);
}

uint64_t sst_snapshot_epoch(const struct sst_snapshot *snapshot)
{
    return snapshot->epoch;
}

bool sst_snapshot_is_live(const struct sst_snapshot *snapshot, uint32_t row)
{
    return row < SST_ROWS_MAX && bitset_has(snapshot->live, row);
}

const void *sst_snapshot_row(const struct sst_snapshot *snapshot, uint32_t row)
{
    return row < snapshot->row_max ? snapshot->rows + row * snapshot->row_size : NULL;
}

/* ---- members ---- */

uint64_t sst_epoch(const struct sst *sst)
{
    return atomic_load_explicit(&sst->table.epoch, memory_order_acquire);
}

uint32_t sst_row_own(const struct sst *sst)
{
    return sst->table.own;
}

uint32_t sst_row_count(const struct sst *sst)
{
    return atomic_load_explicit(&sst->table.row_count, memory_order_acquire);
}

uint32_t sst_live_count(const struct sst *sst)
{
    uint32_t live = 0;
    for (unsigned i = 0; i < SST_ROWS_MAX / 64; i++)
        live += (uint32_t)__builtin_popcountll(
            atomic_load_explicit(&sst->table.live[i], memory_order_acquire));
    return live;
}

bool sst_is_live(const struct sst *sst, uint32_t row)
{
    return table_is_live(&sst->table, row);
}

ripc_id sst_member(const struct sst *sst, uint32_t row)
{
    return row < SST_ROWS_MAX ? atomic_load_explicit(&sst->table.members[row], memory_order_acquire)
                              : 0;
}

int sst_row_of(const struct sst *sst, ripc_id member)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    for (uint32_t row = 0; member && row < SST_ROWS_MAX; row++)
        if (sst_member(sst, row) == member)
            return (int)row;
    return -ENOENT;
}
