#include "cli/show/table_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define GAP      2 /* spaces between columns */
#define INDENT   2 /* of the lines of a block */
#define ELLIPSIS "\xe2\x80\xa6"

static const char *const mark_codes[] = {[TABLE_TEXT_PLAIN] = "",
                                         [TABLE_TEXT_NEW] = "1",
                                         [TABLE_TEXT_FAINT] = "2",
                                         [TABLE_TEXT_ALARM] = "31"};

/* ---- widths ---- */

struct range {
    uint32_t first, last;
};

static bool range_has(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Returns the width of common characters; a terminal may show rare ones differently. */
static uint32_t code_width(uint32_t code)
{
    static const struct range none[] = {{0x300, 0x36f}, {0x200b, 0x200f}, {0xfe00, 0xfe0f}};
    static const struct range two[] = {{0x1100, 0x115f},  {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},  {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                       {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff},
                                       {0x20000, 0x3fffd}};
    if (code < 0x300)
        return 1;
    if (range_has(none, sizeof none / sizeof *none, code))
        return 0;
    return range_has(two, sizeof two / sizeof *two, code) ? 2 : 1;
}

/* Returns the bytes of the first character, and its width in columns. */
static size_t character(const char *text, uint32_t *width)
{
    static const unsigned char payload[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t size = 1;
    while (size < 4 && ((unsigned char)text[size] & 0xc0) == 0x80)
        size++;
    uint32_t code = (unsigned char)*text & payload[size];
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    *width = code_width(code);
    return size;
}

uint32_t table_text_width(const char *text)
{
    uint32_t width = 0, step;
    while (*text) {
        text += character(text, &step);
        width += step;
    }
    return width;
}

size_t table_text_fitting(const char *text, uint32_t width)
{
    size_t size = 0;
    uint32_t step;
    while (text[size]) {
        size_t next = character(text + size, &step);
        if (step > width)
            break;
        width -= step;
        size += next;
    }
    return size;
}

/* ---- cells ---- */

static void blanks(struct text *out, uint32_t count)
{
    text_printf(out, "%*s", (int)count, "");
}

static void marked(struct text *out, const char *text, size_t size, enum table_text_mark mark,
                   bool colour)
{
    if (colour && mark != TABLE_TEXT_PLAIN)
        text_printf(out, "\033[%sm%.*s\033[0m", mark_codes[mark], (int)size, text);
    else
        text_add(out, text, size);
}

/* Prints a cell in `width` columns, truncated if necessary. */
static void cell_print(struct text *out, const struct table_text_cell *cell, uint32_t width,
                       bool right, bool last, bool colour)
{
    char *cut = NULL;
    const char *text = cell->text;
    uint32_t taken = table_text_width(text);
    if (taken > width) {
        size_t size = table_text_fitting(text, width - 1);
        cut = malloc(size + sizeof ELLIPSIS);
        out->failed |= !cut;
        if (!cut)
            return;
        memcpy(cut, text, size);
        strcpy(cut + size, ELLIPSIS);
        text = cut;
        taken = table_text_width(cut);
    }
    blanks(out, right ? width - taken : 0);
    marked(out, text, strlen(text), cell->mark, colour);
    blanks(out, right || last ? 0 : width - taken);
    free(cut);
}

/* ---- bands ---- */

struct layout {
    const struct table_text *table;
    const struct table_text_style *style;
    uint32_t *widths; /* owned; of the columns */
    uint32_t keys;    /* how many columns are keys */
    uint32_t key_width;
};

static const struct table_text_cell *cell_at(const struct table_text *table, uint32_t row,
                                             uint32_t column)
{
    return &table->cells[(size_t)row * table->column_count + column];
}

static uint32_t column_width(const struct table_text *table, uint32_t column)
{
    uint32_t most = table_text_width(table->columns[column].title);
    for (uint32_t row = 0; row < table->row_count; row++) {
        uint32_t width = table_text_width(cell_at(table, row, column)->text);
        most = width > most ? width : most;
    }
    return most ? most : 1;
}

static bool layout_make(struct layout *layout, const struct table_text *table,
                        const struct table_text_style *style)
{
    *layout = (struct layout){.table = table, .style = style};
    layout->widths = calloc(table->column_count, sizeof *layout->widths);
    if (!layout->widths)
        return false;
    for (; layout->keys < table->column_count && table->columns[layout->keys].key; layout->keys++)
        layout->key_width += column_width(table, layout->keys) + GAP;
    /* If the terminal is too narrow for the keys, they are columns like all others. */
    if (style->width && layout->key_width >= style->width)
        layout->keys = layout->key_width = 0;
    for (uint32_t column = 0; column < table->column_count; column++) {
        uint32_t width = column_width(table, column);
        uint32_t before = column < layout->keys ? 0 : layout->key_width;
        bool fits = !style->width || before + width <= style->width;
        layout->widths[column] = fits ? width : style->width - before;
    }
    return true;
}

/* Returns the column after those from `first` on that fit beside the keys. */
static uint32_t band_end(const struct layout *layout, uint32_t first)
{
    uint32_t end = first;
    uint32_t width = layout->key_width;
    while (end < layout->table->column_count) {
        width += layout->widths[end] + (end > first ? GAP : 0);
        if (end > first && layout->style->width && width > layout->style->width)
            break;
        end++;
    }
    return end;
}

/* Prints the cells of a row, or the titles if `row` is row_count. */
static void band_line(struct text *out, const struct layout *layout, uint32_t row, uint32_t first,
                      uint32_t end)
{
    const struct table_text *table = layout->table;
    for (uint32_t at = 0; at < layout->keys + end - first; at++) {
        uint32_t column = at < layout->keys ? at : first + at - layout->keys;
        struct table_text_cell title = {table->columns[column].title, TABLE_TEXT_PLAIN};
        const struct table_text_cell *cell =
            row < table->row_count ? cell_at(table, row, column) : &title;
        blanks(out, at ? GAP : 0);
        cell_print(out, cell, layout->widths[column], table->columns[column].right,
                   at + 1 == layout->keys + end - first, layout->style->colour);
    }
    text_puts(out, "\n");
}

void table_text(struct text *out, const struct table_text *table,
                const struct table_text_style *style)
{
    struct layout layout;
    assert(table->column_count > 0);
    if (!layout_make(&layout, table, style)) {
        out->failed = true;
        return;
    }
    uint32_t first = layout.keys;
    do {
        uint32_t end = band_end(&layout, first);
        text_puts(out, first > layout.keys ? "\n" : "");
        band_line(out, &layout, table->row_count, first, end);
        for (uint32_t row = 0; row < table->row_count; row++)
            band_line(out, &layout, row, first, end);
        first = end;
    } while (first < table->column_count);
    free(layout.widths);
}

static uint32_t line_count(const char *lines)
{
    uint32_t count = 0;
    for (; *lines; lines++)
        count += *lines == '\n';
    return count;
}

/* Splits lines into cells that end with a zero byte; each line has `columns` cells. */
static void lines_cut(char *lines, struct table_text_cell *cells, uint32_t columns, uint32_t rows)
{
    for (uint32_t i = 0; i < columns * rows; i++) {
        size_t size = strcspn(lines, "\t\n");
        assert(lines[size] == (i % columns == columns - 1 ? '\n' : '\t'));
        lines[size] = '\0';
        cells[i].text = lines;
        lines += size + 1;
    }
}

void table_text_lines(struct text *out, char *lines, const char *sides)
{
    uint32_t column_count = (uint32_t)strlen(sides), rows = line_count(lines);
    assert(column_count && rows);
    struct table_text_cell *cells = calloc((size_t)rows * column_count, sizeof *cells);
    struct table_text_column *columns = calloc(column_count, sizeof *columns);
    out->failed |= !cells || !columns;
    if (cells && columns) {
        lines_cut(lines, cells, column_count, rows);
        for (uint32_t i = 0; i < column_count; i++)
            columns[i] = (struct table_text_column){cells[i].text, sides[i] == '>', false};
        struct table_text table = {columns, cells + column_count, column_count, rows - 1};
        table_text(out, &table, &(struct table_text_style){0});
    }
    free(cells);
    free(columns);
}

uint32_t table_text_natural_width(const struct table_text *table)
{
    uint32_t width = 0;
    for (uint32_t column = 0; column < table->column_count; column++)
        width += column_width(table, column) + (column ? GAP : 0);
    return width;
}

/* ---- blocks ---- */

/* Prints the title of a block: "row 0, member 701, state live". */
static void block_title(struct text *out, const struct table_text *table, uint32_t row,
                        uint32_t keys, const struct table_text_style *style)
{
    struct text title = {0};
    for (uint32_t column = 0; column < keys; column++)
        text_printf(&title, "%s%s %s", column ? ", " : "", table->columns[column].title,
                    cell_at(table, row, column)->text);
    if (text_ok(&title)) {
        size_t size = style->width ? table_text_fitting(title.data, style->width) : title.size;
        marked(out, title.data, size, cell_at(table, row, keys - 1)->mark, style->colour);
        text_puts(out, "\n");
    }
    out->failed |= !text_ok(&title);
    text_fini(&title);
}

/* Prints a cell after its title; text that does not fit continues in the next line. */
static void block_cell(struct text *out, const struct table_text_cell *cell, uint32_t indent,
                       const struct table_text_style *style)
{
    const char *at = cell->text;
    uint32_t width = style->width > indent ? style->width - indent : style->width ? 1 : 0;
    do {
        size_t size = width ? table_text_fitting(at, width) : strlen(at);
        if (size == 0 && *at) /* a character wider than the line gets its own line */
            size = character(at, &(uint32_t){0});
        if (at[size]) { /* break between words if possible */
            size_t blank = size;
            while (blank > 0 && at[blank] != ' ')
                blank--;
            size = blank ? blank : size;
        }
        marked(out, at, size, cell->mark, style->colour);
        text_puts(out, "\n");
        at += size;
        at += strspn(at, " ");
        blanks(out, *at ? indent : 0);
    } while (*at);
}

void table_text_blocks(struct text *out, const struct table_text *table,
                       const struct table_text_style *style)
{
    uint32_t keys = 0, widest = 0;
    while (keys < table->column_count && table->columns[keys].key)
        keys++;
    assert(keys > 0);
    for (uint32_t column = keys; column < table->column_count; column++) {
        uint32_t width = table_text_width(table->columns[column].title);
        widest = width > widest ? width : widest;
    }
    if (style->width && widest > style->width / 2)
        widest = style->width > 1 ? style->width / 2 : 1;
    for (uint32_t row = 0; row < table->row_count; row++) {
        block_title(out, table, row, keys, style);
        for (uint32_t column = keys; column < table->column_count; column++) {
            struct table_text_cell title = {table->columns[column].title, TABLE_TEXT_PLAIN};
            blanks(out, INDENT);
            cell_print(out, &title, widest, false, false, false);
            blanks(out, GAP);
            block_cell(out, cell_at(table, row, column), INDENT + widest + GAP, style);
        }
    }
}

/* ---- drawing again ---- */

uint32_t table_text_redraw(struct text *out, const char *lines, uint32_t drawn, uint32_t height)
{
    uint32_t count = line_count(lines);
    uint32_t most = height > 2 ? height - 1 : 1;
    uint32_t shown = count > most ? most - 1 : count;
    if (drawn)
        text_printf(out, "\033[%uA", drawn);
    text_puts(out, "\r");
    for (uint32_t line = 0; line < shown; line++) {
        size_t size = strcspn(lines, "\n");
        text_printf(out, "%.*s\033[K\n", (int)size, lines);
        lines += size + 1;
    }
    if (count > shown)
        text_printf(out, ELLIPSIS " %u more\033[K\n", count - shown);
    text_puts(out, "\033[J");
    return shown + (count > shown);
}
