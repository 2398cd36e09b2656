#pragma once
/* report: the tables of a figure as CSV, and cells as text. */

#include "base/text.h"
#include "paper/figure.h"

/* Writes one table with a header line of names and units, as in `mean_path (hops)`. */
void report_csv(struct text *out, const struct figure_table *table);

/* Returns a cell as text; an empty cell is "". */
#define REPORT_CELL_SIZE 64
const char *report_cell(const struct figure_cell *cell, char buffer[REPORT_CELL_SIZE]);
