#pragma once
/* figure_list: the figures that are computed (paper/) and those that are
 * measured (measured/), as one list. */

#include "paper/figure.h"

#define FIGURE_LIST_MAX 128 /* more than there are */

/* The figure of that number, from 0; NULL after the last. */
const struct figure *figure_list_at(int index);

/* By name, or NULL. */
const struct figure *figure_list_find(const char *name);
