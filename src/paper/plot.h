#pragma once
/* plot: the curves of a figure as a gnuplot script that contains its data, so
 * that `gnuplot NAME.gp > NAME.svg` needs no other file. */

#include "base/text.h"
#include "paper/figure.h"

void plot_script(struct text *out, const struct figure *figure, const struct figure_result *result);
