#pragma once
/* plot: a figure's curves as a gnuplot script that carries its own data, so
 * that `gnuplot NAME.gp > NAME.svg` draws it anywhere. */

#include "base/text.h"
#include "paper/figure.h"

void plot_script(struct text *out, const struct figure *figure, const struct figure_result *result);
