#include "cli/sst/sst_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/ripc/ripc_call.h"
#include "sst/observe/observer.h"

struct sst_look {
    ripc_id table;
    struct table_observer *observer;
    struct sst_column columns[SST_COLUMNS_MAX];
    struct sst_picture_row rows[SST_ROWS_MAX];
    uint8_t *values[SST_ROWS_MAX]; /* owned; of struct_size bytes, or NULL until needed */
    size_t struct_size;
};

/* Where the columns lie in our struct, which is nobody else's: whatever the program's was. */
static void columns_make(struct sst_look *look, const struct schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        look->columns[i] = (struct sst_column){.name = column->name,
                                               .type = column->type,
                                               .count = column->count,
                                               .offset = (uint32_t)look->struct_size,
                                               .flags = column->flags};
        look->struct_size += column->size;
    }
}

enum err sst_look_open(struct ripc *ripc, ripc_id table, int64_t deadline, struct sst_look **out,
                       struct why *why)
{
    char name[RIPC_ID_TEXT];
    struct why reason = {""};
    struct sst_look *look = array_new(1, sizeof *look);
    if (!look)
        return why_memory(why);
    look->table = table;
    int error = observer_open(ripc, table, deadline, &look->observer, &reason);
    if (error >= 0) {
        columns_make(look, observer_schema(look->observer));
        *out = look;
        return OK;
    }
    sst_look_close(look);
    ripc_id_text(table, name);
    if (error == -ENOENT)
        return why_fail(why, ERR_SYSTEM, "table %s: nobody has it (start one with weft sst demo)",
                        name);
    if (reason.text[0])
        return why_fail(why, ERR_SYSTEM, "table %s: %s", name, reason.text);
    return ripc_call_fail(why, error, "table %s", name);
}

void sst_look_close(struct sst_look *look)
{
    if (!look)
        return;
    if (look->observer)
        observer_close(look->observer);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        free(look->values[row]);
    free(look);
}

/* A row as members hold it, as our struct. */
static void values_fill(const struct sst_look *look, uint8_t *values, const uint8_t *cells)
{
    const struct schema *schema = observer_schema(look->observer);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        uint8_t *to = values + look->columns[i].offset;
        if (schema_is_number(column)) {
            uint64_t cell;
            memcpy(&cell, cells + column->cell, sizeof cell);
            schema_narrow(column, cell, to);
        } else {
            memcpy(to, cells + column->cell, column->size);
        }
    }
}

static int row_take(struct sst_look *look, uint32_t row, struct sst_picture *picture)
{
    struct observer_row seen;
    observer_row(look->observer, row, &seen);
    if (seen.member == 0)
        return 0;
    if (!look->values[row])
        look->values[row] = array_new(look->struct_size, 1);
    if (!look->values[row])
        return -ENOMEM;
    values_fill(look, look->values[row], seen.cells);
    look->rows[picture->row_count++] = (struct sst_picture_row){.row = row,
                                                                .member = seen.member,
                                                                .live = seen.live,
                                                                .known = seen.known,
                                                                .values = look->values[row]};
    return 0;
}

int sst_look_take(struct sst_look *look, int64_t deadline, struct sst_picture *picture)
{
    int error = observer_refresh(look->observer, deadline);
    if (error < 0)
        return error;
    *picture = (struct sst_picture){.table = look->table,
                                    .epoch = observer_epoch(look->observer),
                                    .columns = look->columns,
                                    .column_count = observer_schema(look->observer)->column_count,
                                    .rows = look->rows};
    error = 0;
    uint32_t count = observer_row_count(look->observer);
    for (uint32_t row = 0; row < count && error >= 0; row++)
        error = row_take(look, row, picture);
    return error;
}
