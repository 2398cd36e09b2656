#pragma once
/* table_text: a table as lines that fit a terminal, and such lines over the last ones.
 * Pure.
 *
 * A column is as wide as its widest cell. Columns that find no room beside the others
 * follow in a further band of lines, the key columns again before them; what is wider than
 * the terminal ends in an ellipsis. Cells hold printable UTF-8 without control
 * characters. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct table_text_column {
    const char *title;
    bool right; /* numbers stand at the right */
    bool key;   /* says which row it is: in every band; the first columns */
};

enum table_text_mark {
    TABLE_TEXT_PLAIN,
    TABLE_TEXT_NEW,   /* another than in the last picture */
    TABLE_TEXT_FAINT, /* of no more account */
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
    uint32_t width; /* of a line, at least 1; 0: as wide as it comes */
    bool colour;    /* marks are shown by the escape sequences of terminals */
};

void table_text(struct text *out, const struct table_text *table,
                const struct table_text_style *style);

/* The same from text: lines of cells with tabs between them, the titles first. `sides` has a letter
 * a column: '<' stands at the left, '>' at the right. The lines are changed. */
void table_text_lines(struct text *out, char *lines, const char *sides);

/* How wide its lines are where they may be as wide as they come. */
uint32_t table_text_natural_width(const struct table_text *table);

/* The same with a line for every cell, under a line of the row's keys; what is too long for
 * its line goes on in the next. */
void table_text_blocks(struct text *out, const struct table_text *table,
                       const struct table_text_style *style);

/* Lines in place of the `drawn` ones above the cursor; returns how many now stand there.
 * More than `height` - 1 cannot be written over, so the last of those says how many are
 * left off. The lines are not wider than the terminal and end in a newline. */
uint32_t table_text_redraw(struct text *out, const char *lines, uint32_t drawn, uint32_t height);

/* How many columns of a terminal the text takes; how many of its bytes fit into so many. */
uint32_t table_text_width(const char *text);
size_t table_text_fitting(const char *text, uint32_t width);
