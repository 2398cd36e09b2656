#include "sst/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

int table_init(struct table *table, const struct schema *schema)
{
    assert(schema->row_size % SCHEMA_LINE == 0);
    *table = (struct table){.schema = *schema};
    table->nothing = aligned_alloc(SCHEMA_LINE, schema->row_size);
    if (!table->nothing)
        return -ENOMEM;
    memset(table->nothing, 0, schema->row_size);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        atomic_init(&table->rows[row], table->nothing);
    return 0;
}

void table_fini(struct table *table)
{
    free(table->nothing);
    *table = (struct table){0};
}
