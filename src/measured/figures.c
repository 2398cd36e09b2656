#include "measured/figures.h"

#include <stddef.h>

/* One line each, for those who add one. */
/* clang-format off */
const struct figure *const measured_figures[] = {
    &figure_ripc_fig5_5,
    &figure_ripc_flexibility,
    &figure_sst_fig1,
    &figure_sst_fig3,
    NULL,
};
/* clang-format on */
