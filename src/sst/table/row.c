#include "sst/table/row.h"

#include <string.h>

#include "base/check.h"
#include "base/compare.h"

static void words_copy(uint8_t *to, const uint8_t *from, uint32_t offset, uint32_t size)
{
    assert(offset % 8 == 0 && size % 8 == 0);
    for (uint32_t at = offset; at < offset + size; at += 8)
        row_store(to, at, row_load(from, at));
}

/* Copies the sequence words of the wide columns; with `odd`, stores the odd number before each
 * instead. */
static void sequences_copy(uint8_t *to, const uint8_t *from, const struct change *change, bool odd)
{
    for (unsigned i = 0; i < change->span_count; i++)
        if (change->spans[i].watch)
            row_store(to, change->spans[i].watch, row_load(from, change->spans[i].watch) - odd);
}

void row_change(uint8_t *to, const uint8_t *from, const struct change *change)
{
    row_store_behind(to, ROW_SEQUENCE, change->sequence - 1);
    sequences_copy(to, from, change, true);
    row_fence_store();
    for (unsigned i = 0; i < change->span_count; i++)
        words_copy(to, from, change->spans[i].offset, change->spans[i].size);
    row_fence_store();
    sequences_copy(to, from, change, false);
    if (change->guard) {
        row_store_behind(to, change->guard, row_load(from, change->guard));
    }
    row_store_behind(to, ROW_SEQUENCE, change->sequence);
}

static void column_copy(uint8_t *to, const uint8_t *from, const struct schema_column *column)
{
    if (schema_is_number(column)) {
        row_store(to, column->cell, row_load(from, column->cell));
        return;
    }
    row_store(to, column->watch, row_load(from, column->watch) | 1);
    row_fence_store();
    words_copy(to, from, column->cell, (column->size + 7) & ~7u);
    row_store_behind(to, column->watch, row_load(from, column->watch));
}

void row_copy(uint8_t *to, const uint8_t *from, const struct schema *schema)
{
    uint64_t sequence = row_load(from, ROW_SEQUENCE);
    row_store_behind(to, ROW_SEQUENCE, sequence | 1);
    row_fence_store();
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (!(schema->columns[i].flags & SST_GUARD))
            column_copy(to, from, &schema->columns[i]);
    row_fence_store();
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].flags & SST_GUARD)
            column_copy(to, from, &schema->columns[i]);
    row_store(to, ROW_BARRIER, row_load(from, ROW_BARRIER));
    row_store(to, ROW_ASLEEP, row_load(from, ROW_ASLEEP));
    row_store_behind(to, ROW_SEQUENCE, sequence);
}

/* Loads bytes; the first and the last word may be needed in part only. */
static void bytes_load(uint8_t *to, const uint8_t *row, uint32_t offset, uint32_t size)
{
    while (size) {
        uint32_t in_word = offset % 8;
        uint32_t part = size & ~7u; /* all whole words at once */
        if (in_word || !part) {
            part = least_u32(8 - in_word, size);
            uint64_t word = row_load(row, offset - in_word);
            memcpy(to, (const uint8_t *)&word + in_word, part);
        } else {
            row_load_words(to, row + offset, part);
        }
        to += part;
        offset += part;
        size -= part;
    }
}

void row_peek(const uint8_t *row, uint32_t offset, uint32_t size, void *to)
{
    bytes_load(to, row, offset, size);
}

bool row_read(const uint8_t *row, uint32_t watch, uint32_t offset, uint32_t size, void *to)
{
    uint64_t before = row_load(row, watch);
    row_fence_load();
    if (before & 1)
        return false;
    bytes_load(to, row, offset, size);
    row_fence_load();
    return row_load(row, watch) == before;
}
