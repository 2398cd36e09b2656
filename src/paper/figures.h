#pragma once
/* figures: every figure there is; the table in figures.c lists them. */

#include "paper/figure.h"

extern const struct figure figure_cam_hops;
extern const struct figure figure_cam_keyspace;
extern const struct figure figure_jelly_cabling;
extern const struct figure figure_jelly_fig14;
extern const struct figure figure_jelly_fig1c;
extern const struct figure figure_jelly_fig2a;
extern const struct figure figure_jelly_fig2b;
extern const struct figure figure_jelly_fig2c;
extern const struct figure figure_jelly_fig3;
extern const struct figure figure_jelly_fig4;
extern const struct figure figure_jelly_fig5;
extern const struct figure figure_jelly_fig6;
extern const struct figure figure_jelly_fig7;
extern const struct figure figure_jelly_fig8;
extern const struct figure figure_jelly_fig9;
extern const struct figure figure_nova_build;
extern const struct figure figure_nova_deadlock;
extern const struct figure figure_nova_eq10;
extern const struct figure figure_nova_eq3;
extern const struct figure figure_nova_eq4;
extern const struct figure figure_nova_eq7;
extern const struct figure figure_nova_eq8;
extern const struct figure figure_nova_fig4;
extern const struct figure figure_nova_fig5;
extern const struct figure figure_nova_worst;
