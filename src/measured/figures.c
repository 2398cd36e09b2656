#include "measured/figures.h"

#include <stddef.h>

/* One line each, for those who add one. */
/* clang-format off */
const struct figure *const measured_figures[] = {
    &figure_ripc_fig5_5,
    &figure_ripc_flexibility,
    NULL,
};
/* clang-format on */
