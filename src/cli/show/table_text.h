#pragma once
/* table_text: a table as lines that fit a terminal, and lines that overwrite earlier ones.
 * Pure.
 *
 * A column is as wide as its widest cell. Columns that do not fit beside the others follow
 * in a further band of lines, after a repetition of the key columns; a cell wider than the
 * terminal ends in an ellipsis. Cells contain printable UTF-8 without control
 * characters. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct table_text_column {
    const char *title;
    bool right; /* aligned right, as numbers are */
    bool key;   /* identifies the row and is in every band; keys are the first columns */
};

enum table_text_mark {
    TABLE_TEXT_PLAIN,
    TABLE_TEXT_NEW,   /* changed since the last picture */
    TABLE_TEXT_FAINT, /* no longer valid */
    TABLE_TEXT_ALARM,
};

struct table_text_cell {
    const char *text; /* borrowed */
    enum table_text_mark mark;
};

struct table_text {
    const struct table_text_column *columns;
    const struct table_text_cell *cells; /* row by row */
    uint32_t column_count;
    uint32_t row_count;
};

struct table_text_style {
    uint32_t width; /* of a line, at least 1; 0: no limit */
    bool colour;    /* marks are shown by escape sequences of terminals */
};

void table_text(struct text *out, const struct table_text *table,
                const struct table_text_style *style);

/* The same from text: lines of cells separated by tabs, the titles first. `sides` has a character
 * for each column: '<' aligns it left, '>' right. The lines are changed. */
void table_text_lines(struct text *out, char *lines, const char *sides);

/* Returns the width of the lines if there is no limit. */
uint32_t table_text_natural_width(const struct table_text *table);

/* Prints a block for each row: a line with its keys, then a line for each cell, which continues
 * in the next line if it is too long. */
void table_text_blocks(struct text *out, const struct table_text *table,
                       const struct table_text_style *style);

/* Replaces the `drawn` lines above the cursor; returns how many lines are drawn now. At most
 * `height` - 1 lines can be overwritten later, so if there are more, the last one says how many are
 * left out. The lines are not wider than the terminal and end in a newline. */
uint32_t table_text_redraw(struct text *out, const char *lines, uint32_t drawn, uint32_t height);

/* The first function returns the width of the text in columns, the second how many of its bytes fit
 * into `width` columns. */
uint32_t table_text_width(const char *text);
size_t table_text_fitting(const char *text, uint32_t width);
