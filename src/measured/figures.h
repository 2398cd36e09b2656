#pragma once
/* figures: those of the papers that running nodes must show. They have the form of
 * paper/figure.h. Where processes and a clock show them their numbers are of this machine and this
 * moment: no two runs are equal; those that are simulated alone are. */

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
