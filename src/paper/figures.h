#pragma once
/* figures: every figure there is; the table in figures.c lists them. */

#include "paper/figure.h"

extern const struct figure figure_cam_hops;
