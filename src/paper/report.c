#include "paper/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *report_cell(const struct figure_cell *cell, char buffer[REPORT_CELL_SIZE])
{
    if (cell->word[0])
        return cell->word;
    if (isnan(cell->number))
        return "";
    bool whole = fabs(cell->number) < 1e15 && cell->number == floor(cell->number);
    snprintf(buffer, REPORT_CELL_SIZE, whole ? "%.0f" : "%.10g", cell->number);
    return buffer;
}

/* Writes a field, in quotes only if it needs them. */
static void csv_field(struct text *out, const char *field)
{
    if (!strpbrk(field, ",\"\n")) {
        text_puts(out, field);
        return;
    }
    text_puts(out, "\"");
    for (; *field; field++)
        text_printf(out, *field == '"' ? "\"\"" : "%c", *field);
    text_puts(out, "\"");
}

void report_csv(struct text *out, const struct figure_table *table)
{
    char buffer[REPORT_CELL_SIZE];
    for (size_t i = 0; i < table->column_count; i++) {
        const struct figure_column *column = &table->columns[i];
        text_printf(out, "%s%s", i ? "," : "", column->name);
        if (column->unit[0])
            text_printf(out, " (%s)", column->unit);
    }
    text_puts(out, "\n");
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            text_puts(out, i ? "," : "");
            csv_field(out, report_cell(&table->cells[row * table->column_count + i], buffer));
        }
        text_puts(out, "\n");
    }
}
