#pragma once
/* figures: those of the papers that running processes and a clock must show.
 * They have the form of paper/figure.h, but their numbers are of this machine
 * and this moment: no two runs are equal. */

#include "paper/figure.h"

extern const struct figure figure_ripc_fig5_5;
extern const struct figure figure_ripc_flexibility;
extern const struct figure figure_sst_fig1;
extern const struct figure figure_sst_fig3;
extern const struct figure figure_sst_table4;
extern const struct figure figure_sst_complex;
extern const struct figure figure_sst_throughput;
extern const struct figure figure_sst_fig5;
extern const struct figure figure_sst_fig6;
extern const struct figure figure_sst_fig7;
extern const struct figure figure_sst_fig8;
extern const struct figure figure_sst_fig9;

extern const struct figure *const measured_figures[]; /* in order of paper; ends with NULL */
