#pragma once
/* figure_report: the result of a figure as an object, and the page that shows such objects as text:
 * a line for each claim with the number of the paper, the number of weft and the verdict; the
 * reason under claims that do not agree; and the columns of numbers that the texts of the figure
 * refer to. */

#include "cli/core/result.h"
#include "paper/figure.h"

/* The page of one object; the caller puts it between {#figures} and {/}. */
#define FIGURE_REPORT_PAGE                                                                         \
    "{name}: {paper}, {what}\n"                                                                    \
    "{#claims}  {label}  paper {printed}  weft {found}  {verdict}\n{?because}{because}{/}{/}"      \
    "{?choice_lines}{choice_lines}{/}{?columns}{columns}{/}"

/* Adds the result of a figure to the open object. */
void figure_report(struct result *result, const struct figure *figure,
                   const struct figure_call *call, const struct figure_result *found);
