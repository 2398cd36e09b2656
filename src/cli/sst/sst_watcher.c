#include "cli/sst/sst_watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/ripc/ripc_call.h"
#include "sst/observe/observer.h"

struct sst_watcher {
    ripc_id table;
    struct table_observer *observer;
    struct sst_column columns[SST_COLUMNS_MAX];
    struct sst_picture_row rows[SST_ROWS_MAX];
    uint8_t *values[SST_ROWS_MAX]; /* owned; of struct_size bytes, or NULL until needed */
    size_t struct_size;
};

/* Lays out the columns in our own struct; it may differ from the program's struct. */
static void columns_make(struct sst_watcher *watcher, const struct schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        watcher->columns[i] = (struct sst_column){.name = column->name,
                                                  .type = column->type,
                                                  .count = column->count,
                                                  .offset = (uint32_t)watcher->struct_size,
                                                  .flags = column->flags};
        watcher->struct_size += column->size;
    }
}

enum err sst_watcher_open(struct ripc *ripc, ripc_id table, int64_t deadline,
                          struct sst_watcher **out, struct why *why)
{
    char name[RIPC_ID_TEXT];
    struct why reason = {""};
    struct sst_watcher *watcher = array_new(1, sizeof *watcher);
    if (!watcher)
        return why_memory(why);
    watcher->table = table;
    int error = observer_open(ripc, table, deadline, &watcher->observer, &reason);
    if (error >= 0) {
        columns_make(watcher, observer_schema(watcher->observer));
        *out = watcher;
        return OK;
    }
    sst_watcher_close(watcher);
    ripc_id_text(table, name);
    if (error == -ENOENT)
        return why_fail(why, ERR_SYSTEM, "table %s: no process has it; 'weft sst demo' starts one",
                        name);
    if (reason.text[0])
        return why_fail(why, ERR_SYSTEM, "table %s: %s", name, reason.text);
    return ripc_call_fail(why, error, "table %s", name);
}

void sst_watcher_close(struct sst_watcher *watcher)
{
    if (!watcher)
        return;
    if (watcher->observer)
        observer_close(watcher->observer);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        free(watcher->values[row]);
    free(watcher);
}

/* Converts a row from the layout of the members to our struct. */
static void values_fill(const struct sst_watcher *watcher, uint8_t *values, const uint8_t *cells)
{
    const struct schema *schema = observer_schema(watcher->observer);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        uint8_t *to = values + watcher->columns[i].offset;
        if (schema_is_number(column)) {
            uint64_t cell;
            memcpy(&cell, cells + column->cell, sizeof cell);
            schema_narrow(column, cell, to);
        } else {
            memcpy(to, cells + column->cell, column->size);
        }
    }
}

static int row_take(struct sst_watcher *watcher, uint32_t row, struct sst_picture *picture)
{
    struct observer_row seen;
    observer_row(watcher->observer, row, &seen);
    if (seen.member == 0)
        return 0;
    if (!watcher->values[row])
        watcher->values[row] = array_new(watcher->struct_size, 1);
    if (!watcher->values[row])
        return -ENOMEM;
    values_fill(watcher, watcher->values[row], seen.cells);
    watcher->rows[picture->row_count++] = (struct sst_picture_row){.row = row,
                                                                   .member = seen.member,
                                                                   .live = seen.live,
                                                                   .known = seen.known,
                                                                   .values = watcher->values[row]};
    return 0;
}

int sst_watcher_take(struct sst_watcher *watcher, int64_t deadline, struct sst_picture *picture)
{
    int error = observer_refresh(watcher->observer, deadline);
    if (error < 0)
        return error;
    *picture =
        (struct sst_picture){.table = watcher->table,
                             .epoch = observer_epoch(watcher->observer),
                             .columns = watcher->columns,
                             .column_count = observer_schema(watcher->observer)->column_count,
                             .rows = watcher->rows};
    error = 0;
    uint32_t count = observer_row_count(watcher->observer);
    for (uint32_t row = 0; row < count && error >= 0; row++)
        error = row_take(watcher, row, picture);
    return error;
}
