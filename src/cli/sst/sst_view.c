#include "cli/sst/sst_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "cli/ripc/ripc_call.h"
#include "cli/sst/sst_cell.h"

/* Widths of arrays that are tried, unless all elements are shown: the first with which the table
 * fits; otherwise the last one. */
static const uint32_t array_widths[] = {48, 28, 16, 28};

enum { KEY_ROW, KEY_MEMBER, KEY_STATE, KEYS };

const char *sst_type_name(enum sst_type type)
{
    static const char *const names[] = {
        [SST_BOOL] = "bool", [SST_U8] = "u8",   [SST_I8] = "i8",   [SST_BYTES] = "bytes",
        [SST_U16] = "u16",   [SST_I16] = "i16", [SST_U32] = "u32", [SST_I32] = "i32",
        [SST_F32] = "f32",   [SST_U64] = "u64", [SST_I64] = "i64", [SST_F64] = "f64"};
    assert((size_t)type < sizeof names / sizeof *names && names[type]);
    return names[type];
}

/* FNV-1a: equal values have equal hashes; a change that is missed once in 2^64 does no
 * harm. */
static uint64_t hash(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 0x100000001b3u;
    return value;
}

/* The cells of a picture. The addresses of their texts are set when all texts are written. */
struct cells {
    struct table_text_cell *list; /* owned */
    size_t *starts;               /* owned; in `all` */
    struct text all;              /* their texts, each with its zero byte */
    uint32_t count;
};

static bool cells_init(struct cells *cells, uint32_t count)
{
    *cells = (struct cells){0};
    cells->list = array_new(count, sizeof *cells->list);
    cells->starts = array_new((size_t)count + 1, sizeof *cells->starts);
    return cells->list && cells->starts;
}

static void cells_fini(struct cells *cells)
{
    free(cells->list);
    free(cells->starts);
    text_fini(&cells->all);
}

/* Ends a cell: its text is what was added to `all` since the last one. */
static void cell_end(struct cells *cells)
{
    text_add(&cells->all, "", 1);
    cells->starts[++cells->count] = cells->all.size;
}

/* Marks the cells that changed since the last picture, and stores the hashes of this one. */
static void row_mark(struct sst_view *view, const struct sst_picture *picture,
                     const struct sst_picture_row *row, enum table_text_mark *marks)
{
    bool same = view->members[row->row] == row->member;
    marks[KEY_MEMBER] = same || !view->epoch ? TABLE_TEXT_PLAIN : TABLE_TEXT_NEW;
    marks[KEY_STATE] = row->live ? TABLE_TEXT_PLAIN : TABLE_TEXT_ALARM;
    for (uint32_t i = 0; i < picture->column_count; i++) {
        const struct sst_column *column = &picture->columns[i];
        uint64_t now =
            hash(row->values + column->offset, (size_t)column->count * SST_SIZE(column->type));
        bool changed = same && view->hashes[row->row][i] != now;
        bool counts = row->live && row->known;
        marks[KEYS + i] = !counts ? TABLE_TEXT_FAINT : changed ? TABLE_TEXT_NEW : TABLE_TEXT_PLAIN;
        view->hashes[row->row][i] = now;
    }
}

static void rows_mark(struct sst_view *view, const struct sst_picture *picture,
                      enum table_text_mark *marks)
{
    ripc_id members[SST_ROWS_MAX] = {0};
    for (uint32_t i = 0; i < picture->row_count; i++) {
        row_mark(view, picture, &picture->rows[i], marks + i * (KEYS + picture->column_count));
        members[picture->rows[i].row] = picture->rows[i].member;
    }
    memcpy(view->members, members, sizeof members);
    view->epoch = picture->epoch;
}

static void row_add(struct cells *cells, const struct sst_picture *picture,
                    const struct sst_picture_row *row, uint32_t array_width)
{
    char member[RIPC_ID_TEXT];
    text_printf(&cells->all, "%u", row->row);
    cell_end(cells);
    text_puts(&cells->all, ripc_id_text(row->member, member));
    cell_end(cells);
    text_puts(&cells->all, !row->live ? "frozen" : row->known ? "live" : "unread");
    cell_end(cells);
    for (uint32_t i = 0; i < picture->column_count; i++) {
        const struct sst_column *column = &picture->columns[i];
        if (row->known)
            sst_cell_text(&cells->all, column->type, column->count, row->values + column->offset,
                          array_width);
        else
            text_puts(&cells->all, "-");
        cell_end(cells);
    }
}

static uint32_t live_count(const struct sst_picture *picture)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < picture->row_count; i++)
        live += picture->rows[i].live;
    return live;
}

static void title_add(struct text *out, const struct sst_picture *picture,
                      const struct table_text_style *style)
{
    struct text title = {0};
    char table[RIPC_ID_TEXT];
    uint32_t live = live_count(picture);
    text_printf(&title, "table %s, epoch %" PRIu64 ": ", ripc_id_text(picture->table, table),
                picture->epoch);
    text_count(&title, picture->row_count, "member", "members");
    if (live < picture->row_count)
        text_printf(&title, ", %u frozen", picture->row_count - live);
    if (text_ok(&title))
        text_add(out, title.data,
                 style->width ? table_text_fitting(title.data, style->width) : title.size);
    text_puts(out, "\n");
    out->failed |= title.failed;
    text_fini(&title);
}

static void columns_name(struct table_text_column *columns, const struct sst_picture *picture)
{
    columns[KEY_ROW] = (struct table_text_column){.title = "row", .right = true, .key = true};
    columns[KEY_MEMBER] = (struct table_text_column){.title = "member", .key = true};
    columns[KEY_STATE] = (struct table_text_column){.title = "state", .key = true};
    for (uint32_t i = 0; i < picture->column_count; i++) {
        const struct sst_column *column = &picture->columns[i];
        bool number = column->type != SST_BYTES && column->count == 1;
        columns[KEYS + i] = (struct table_text_column){.title = column->name, .right = number};
    }
}

/* Fills the cells, with arrays of that width. Returns false if memory has run out. */
static bool cells_fill(struct cells *cells, const struct sst_picture *picture,
                       const enum table_text_mark *marks, uint32_t array_width)
{
    cells->count = 0;
    cells->all.size = 0;
    for (uint32_t i = 0; i < picture->row_count; i++)
        row_add(cells, picture, &picture->rows[i], array_width);
    if (cells->all.failed)
        return false;
    for (uint32_t i = 0; i < cells->count; i++)
        cells->list[i] = (struct table_text_cell){cells->all.data + cells->starts[i], marks[i]};
    return true;
}

static bool view_print(const struct sst_view *view, struct text *out,
                       const struct sst_picture *picture, const enum table_text_mark *marks,
                       struct cells *cells, const struct table_text_style *style)
{
    struct table_text_column columns[KEYS + SST_COLUMNS_MAX];
    columns_name(columns, picture);
    struct table_text table = {.columns = columns,
                               .cells = cells->list,
                               .column_count = KEYS + picture->column_count,
                               .row_count = picture->row_count};
    size_t tries = view->wide ? 0 : sizeof array_widths / sizeof *array_widths;
    if (!cells_fill(cells, picture, marks, view->wide ? 0 : array_widths[0]))
        return false;
    for (size_t i = 1; i < tries && style->width; i++) {
        if (table_text_natural_width(&table) <= style->width)
            break;
        if (!cells_fill(cells, picture, marks, array_widths[i]))
            return false;
    }
    title_add(out, picture, style);
    (view->wide ? table_text_blocks : table_text)(out, &table, style);
    return true;
}

void sst_view_text(struct sst_view *view, struct text *out, const struct sst_picture *picture,
                   const struct table_text_style *style)
{
    struct cells cells;
    uint32_t count = picture->row_count * (KEYS + picture->column_count);
    assert(picture->column_count <= SST_COLUMNS_MAX && picture->row_count <= SST_ROWS_MAX);
    enum table_text_mark *marks = array_new(count, sizeof *marks);
    bool good = cells_init(&cells, count) && marks;
    if (good) {
        rows_mark(view, picture, marks);
        good = view_print(view, out, picture, marks, &cells, style);
    }
    out->failed |= !good;
    cells_fini(&cells);
    free(marks);
}

static void column_json(struct json *json, const struct sst_column *column)
{
    json_object(json);
    json_put_string(json, "name", column->name);
    json_put_string(json, "type", sst_type_name(column->type));
    json_put_uint(json, "count", column->count);
    json_put_bool(json, "guard", column->flags & SST_GUARD);
    json_put_bool(json, "grows", column->flags & SST_GROWS);
    json_end(json, '}');
}

static void row_json(struct json *json, const struct sst_picture *picture,
                     const struct sst_picture_row *row)
{
    json_object(json);
    json_put_uint(json, "row", row->row);
    json_put_uint(json, "member", row->member);
    json_put_bool(json, "live", row->live);
    json_key(json, "values");
    if (!row->known) {
        json_null(json);
        json_end(json, '}');
        return;
    }
    json_object(json);
    for (uint32_t i = 0; i < picture->column_count; i++) {
        const struct sst_column *column = &picture->columns[i];
        json_key(json, column->name);
        sst_cell_json(json, column->type, column->count, row->values + column->offset);
    }
    json_end(json, '}');
    json_end(json, '}');
}

void sst_view_json(struct json *json, const struct sst_picture *picture)
{
    json_put_uint(json, "table", picture->table);
    json_put_uint(json, "epoch", picture->epoch);
    json_key(json, "columns");
    json_array(json);
    for (uint32_t i = 0; i < picture->column_count; i++)
        column_json(json, &picture->columns[i]);
    json_end(json, ']');
    json_key(json, "rows");
    json_array(json);
    for (uint32_t i = 0; i < picture->row_count; i++)
        row_json(json, picture, &picture->rows[i]);
    json_end(json, ']');
}
