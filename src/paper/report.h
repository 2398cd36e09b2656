#pragma once
/* report: a figure's result as text for people, as CSV and as JSON. */

#include "base/json.h"
#include "base/text.h"
#include "paper/figure.h"

/* The claims, a line each: what the paper says, what we find, the verdict; and
 * under those that do not agree, why. */
void report_claims(struct text *out, const struct figure *figure,
                   const struct figure_result *result);

/* One table, with a header line; units are in the header, as in `mean_path (hops)`. */
void report_csv(struct text *out, const struct figure_table *table);

/* The fields of the figure's JSON object; the caller opens and closes it. */
void report_json(struct json *json, const struct figure *figure, const struct figure_call *call,
                 const struct figure_result *result);

/* A cell as text; empty for an empty one. */
#define REPORT_CELL_SIZE 64
const char *report_cell(const struct figure_cell *cell, char buffer[REPORT_CELL_SIZE]);
