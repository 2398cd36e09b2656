#pragma once
/* figures: the figures of papers that need running nodes, in the form of paper/figure.h. The
 * numbers of figures that are measured with processes and a clock depend on this machine, and no
 * two runs are equal. Figures that are only simulated give the same numbers each time. */

#include "paper/figure.h"

extern const struct figure figure_cam_15hop;
extern const struct figure figure_cam_fig4a;
extern const struct figure figure_cam_fig4b;
extern const struct figure figure_cam_fig4c;
extern const struct figure figure_cam_fig5a;
extern const struct figure figure_cam_fig5b;
extern const struct figure figure_cam_fig5c;
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
