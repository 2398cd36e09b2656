/* Tests the description of a table's rows, as a member sent it: the description is refused, or
 * gives a layout whose columns are inside the row and do not overlap. Then it has the same bytes
 * when written again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sst/table/schema.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int watches_compare(const void *left, const void *right)
{
    const struct schema_column *one = left, *other = right;
    return (one->watch > other->watch) - (one->watch < other->watch);
}

static void check_layout(struct schema schema)
{
    uint64_t end = sizeof(struct row_head);
    assert(schema.column_count > 0 && schema.column_count <= SST_COLUMNS_MAX);
    assert(schema.row_size % SCHEMA_LINE == 0);
    qsort(schema.columns, schema.column_count, sizeof schema.columns[0], watches_compare);
    for (uint32_t i = 0; i < schema.column_count; i++) {
        const struct schema_column *column = &schema.columns[i];
        assert(column->watch >= end && column->watch % 8 == 0);
        assert(schema_is_number(column) || column->cell == column->watch + 8);
        end = schema_is_number(column) ? column->cell + 8 : (uint64_t)column->cell + column->size;
        assert(end <= schema.row_size);
        assert(strlen(column->name) > 0 && strlen(column->name) < SST_NAME_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema schema;
    uint8_t again[SCHEMA_WIRE_MAX];
    int result = schema_read(&schema, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result < 0)
        return 0;
    check_layout(schema);
    int written = schema_write(&schema, again, sizeof again);
    assert(written >= 0 && (size_t)written == size);
    assert(memcmp(again, data, size) == 0);
    return 0;
}
