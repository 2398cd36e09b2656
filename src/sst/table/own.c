#include "sst/table/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"

int own_init(struct own *own, const struct schema *schema, uint8_t *row, struct row_spread *spread)
{
    *own = (struct own){.schema = schema, .spread = spread, .row = row};
    own->image = calloc(1, schema->struct_size);
    return own->image ? 0 : -ENOMEM;
}

void own_fini(struct own *own)
{
    free(own->image);
    *own = (struct own){0};
}

/* Stores a number into the image; SST_U64, the most common type, needs no conversion. */
static void field_store(struct own *own, const struct schema_column *column, uint64_t cell)
{
    if (column->type == SST_U64)
        memcpy(own->image + column->offset, &cell, sizeof cell);
    else
        schema_narrow(column, cell, own->image + column->offset);
}

int own_set(struct own *own, uint32_t index, uint64_t cell)
{
    const struct schema_column *column = &own->schema->columns[index];
    assert(index < own->schema->column_count && schema_is_number(column));
    if ((column->flags & SST_GROWS) && schema_falls(column, row_load(own->row, column->cell), cell))
        return -ERANGE;
    field_store(own, column, cell);
    own->sequence += 2;
    row_set(own->row, column->cell, cell, own->sequence);
    own->spread->ops->set(own->spread, column->cell, cell, own->sequence, NULL);
    return 0;
}

void own_set_head(struct own *own, uint32_t offset, uint64_t word)
{
    assert(offset < sizeof(struct row_head) && offset != ROW_SEQUENCE);
    own->sequence += 2;
    row_set(own->row, offset, word, own->sequence);
    own->spread->ops->set(own->spread, offset, word, own->sequence, NULL);
}

/* Finds the words that hold the elements. Returns -EINVAL for an invalid range, or -ERANGE for a
 * smaller number in a column that only grows. */
static int range_span(const struct own *own, const struct sst_range *range, struct span *span)
{
    if (range->column >= own->schema->column_count)
        return -EINVAL;
    const struct schema_column *column = &own->schema->columns[range->column];
    if (range->first >= column->count || range->count > column->count - range->first)
        return -EINVAL;
    if (schema_is_number(column)) {
        uint64_t cell = schema_widen(column, own->image + column->offset);
        *span = (struct span){.offset = column->cell, .size = 8};
        return (column->flags & SST_GROWS) &&
                       schema_falls(column, row_load(own->row, column->cell), cell)
                   ? -ERANGE
                   : 0;
    }
    uint32_t count = range->count ? range->count : column->count - range->first;
    uint32_t size = SST_SIZE(column->type);
    uint32_t begin = range->first * size & ~7u;
    uint32_t end = (range->first + count) * size;
    *span = (struct span){
        .watch = column->watch,
        .offset = column->cell + begin,
        .size = (end - begin + 7) & ~7u,
    };
    return 0;
}

/* Copies from the image into the row. Elements outside the range that share a word with it keep the
 * value that was put last. */
static void range_store(struct own *own, const struct sst_range *range)
{
    const struct schema_column *column = &own->schema->columns[range->column];
    const uint8_t *field = own->image + column->offset;
    if (schema_is_number(column)) {
        row_store(own->row, column->cell, schema_widen(column, field));
        return;
    }
    uint32_t count = range->count ? range->count : column->count - range->first;
    uint32_t at = range->first * SST_SIZE(column->type);
    uint32_t end = at + count * SST_SIZE(column->type);
    uint8_t *cells = own->row + column->cell;
    while (at < end) {
        uint32_t in_word = at % 8, left = end - at;
        uint32_t part = left & ~7u; /* all whole words at once */
        if (in_word || !part) {
            part = least_u32(8 - in_word, left);
            uint64_t word = row_load(cells, at - in_word);
            memcpy((uint8_t *)&word + in_word, field + at, part);
            row_store(cells, at - in_word, word);
        } else {
            row_store_words(cells + at, field + at, part);
        }
        at += part;
    }
}

static int guard_check(const struct own *own, uint32_t guard, uint64_t cell)
{
    if (guard >= own->schema->column_count)
        return -EINVAL;
    const struct schema_column *column = &own->schema->columns[guard];
    if (!schema_is_number(column))
        return -EINVAL;
    return (column->flags & SST_GROWS) &&
                   schema_falls(column, row_load(own->row, column->cell), cell)
               ? -ERANGE
               : 0;
}

static void own_store(struct own *own, const struct sst_range *ranges, const struct change *change)
{
    uint8_t *row = own->row;
    row_store_behind(row, ROW_SEQUENCE, change->sequence - 1);
    for (unsigned i = 0; i < change->span_count; i++)
        if (change->spans[i].watch)
            row_store(row, change->spans[i].watch, row_load(row, change->spans[i].watch) | 1);
    row_fence_store();
    for (unsigned i = 0; i < change->span_count; i++)
        range_store(own, &ranges[i]);
    row_fence_store();
    for (unsigned i = 0; i < change->span_count; i++)
        if (change->spans[i].watch)
            row_store(row, change->spans[i].watch, (row_load(row, change->spans[i].watch) | 1) + 1);
}

int64_t own_put(struct own *own, const struct sst_range *ranges, unsigned count, uint32_t guard,
                uint64_t guard_cell, const struct sst_rows *to)
{
    struct span spans[SST_COLUMNS_MAX];
    int64_t bytes = 0;
    if (count > SST_COLUMNS_MAX || (count == 0 && guard == OWN_NO_GUARD))
        return -EINVAL;
    int result = guard == OWN_NO_GUARD ? 0 : guard_check(own, guard, guard_cell);
    for (unsigned i = 0; i < count && result == 0; i++) {
        spans[i] = (struct span){0};
        result = range_span(own, &ranges[i], &spans[i]);
        bytes += spans[i].size;
    }
    if (result)
        return result;
    own->sequence += 2;
    struct change change = {.spans = spans, .span_count = count, .sequence = own->sequence};
    own_store(own, ranges, &change);
    if (guard != OWN_NO_GUARD) {
        const struct schema_column *column = &own->schema->columns[guard];
        field_store(own, column, guard_cell);
        row_store_behind(own->row, column->cell, guard_cell);
        change.guard = column->cell;
        bytes += 8;
    }
    row_store_behind(own->row, ROW_SEQUENCE, change.sequence);
    own->spread->ops->change(own->spread, &change, to);
    return bytes;
}
