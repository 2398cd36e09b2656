#pragma once
/* figures: all computed figures; the table in figures.c has them in the order of the list. */

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
