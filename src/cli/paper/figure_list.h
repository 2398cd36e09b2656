#pragma once
/* figure_list: all figures, the computed ones (paper/) and the measured ones
 * (measured/), as one list. */

#include "paper/figure.h"

#define FIGURE_LIST_MAX 128 /* more than there are */

/* Returns the figure with that index; NULL after the last. */
const struct figure *figure_list_at(int index);

/* Finds a figure by its name; NULL if there is none. */
const struct figure *figure_list_find(const char *name);
