#include "sst/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/compare.h"

/* Allocates and initialises the three arrays. Without a member, a row's id and live bit are
 * zero. */
static bool arrays_make(struct table *table, uint32_t rows_max)
{
    table->rows_max = rows_max;
    table->live_words = bitset_words(rows_max);
    uint32_t room = most_u32(rows_max, SST_ROWS_MAX);
    uint32_t words = bitset_words(room);
    size_t size =
        room * sizeof *table->rows + words * sizeof *table->live + room * sizeof *table->members;
    void *memory = aligned_alloc(SCHEMA_LINE, (size + SCHEMA_LINE - 1) / SCHEMA_LINE * SCHEMA_LINE);
    if (!memory)
        return false;
    table->live = memory;
    table->rows = (uint8_t * _Atomic *)(table->live + words);
    table->members = (_Atomic uint64_t *)(table->rows + room);
    for (uint32_t i = 0; i < words; i++)
        atomic_init(&table->live[i], 0);
    for (uint32_t row = 0; row < room; row++) {
        atomic_init(&table->rows[row], table->nothing);
        atomic_init(&table->members[row], 0);
    }
    return true;
}

int table_init(struct table *table, const struct schema *schema, uint32_t rows_max)
{
    assert(schema->row_size % SCHEMA_LINE == 0);
    assert(rows_max > 0 && rows_max <= TABLE_ROWS_MAX);
    *table = (struct table){.schema = *schema};
    table->nothing = aligned_alloc(SCHEMA_LINE, schema->row_size);
    if (!table->nothing)
        return -ENOMEM;
    memset(table->nothing, 0, schema->row_size);
    if (!arrays_make(table, rows_max)) {
        table_fini(table);
        return -ENOMEM;
    }
    return 0;
}

void table_fini(struct table *table)
{
    free(table->nothing);
    free(table->live);
    *table = (struct table){0};
}
