#pragma once
/* report: a figure's tables as CSV, and their cells as text. */

#include "base/text.h"
#include "paper/figure.h"

/* One table, with a header line; units are in the header, as in `mean_path (hops)`. */
void report_csv(struct text *out, const struct figure_table *table);

/* A cell as text; empty for an empty one. */
#define REPORT_CELL_SIZE 64
const char *report_cell(const struct figure_cell *cell, char buffer[REPORT_CELL_SIZE]);
