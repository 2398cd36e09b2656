#pragma once
/* Shared by tests of the table: a struct with a column of every shape, and a table in plain
 * memory. */

#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/test.h"
#include "sst/table/row.h"
#include "sst/table/table.h"

struct test_row {
    uint64_t step;
    int32_t level;
    double load;
    uint8_t tag[5];
    uint32_t wide[100];
    uint64_t guard;
};

enum { STEP, LEVEL, LOAD, TAG, WIDE, GUARD, TEST_COLUMNS };

static const struct sst_column test_columns[TEST_COLUMNS] = {
    [STEP] = SST_COLUMN(struct test_row, step, SST_U64, SST_GROWS),
    [LEVEL] = SST_COLUMN(struct test_row, level, SST_I32, 0),
    [LOAD] = SST_COLUMN(struct test_row, load, SST_F64, 0),
    [TAG] = SST_COLUMN(struct test_row, tag, SST_BYTES, 0),
    [WIDE] = SST_COLUMN(struct test_row, wide, SST_U32, 0),
    [GUARD] = SST_COLUMN(struct test_row, guard, SST_U64, SST_GUARD | SST_GROWS),
};

static inline void test_schema(struct schema *schema)
{
    struct why why = {""};
    assert_int_equal(schema_make(schema, test_columns, TEST_COLUMNS, sizeof(struct test_row), &why),
                     0);
}

/* Makes rows 0 .. count - 1 live and zeroed; the caller owns them. */
static inline void test_table(struct table *table, uint32_t count)
{
    struct schema schema;
    test_schema(&schema);
    assert_int_equal(table_init(table, &schema, count > SST_ROWS_MAX ? count : SST_ROWS_MAX), 0);
    for (uint32_t row = 0; row < count; row++) {
        uint8_t *memory = aligned_alloc(SCHEMA_LINE, schema.row_size);
        assert_non_null(memory);
        memset(memory, 0, schema.row_size);
        atomic_store(&table->rows[row], memory);
        atomic_store(&table->live[bitset_word(row)],
                     atomic_load(&table->live[bitset_word(row)]) | bitset_bit(row));
    }
    atomic_store(&table->row_count, count);
}

static inline void test_table_end(struct table *table)
{
    for (uint32_t row = 0; row < table->rows_max; row++)
        if (atomic_load(&table->rows[row]) != table->nothing)
            free(atomic_load(&table->rows[row]));
    table_fini(table);
}
