#include "measured/figures.h"

#include <stddef.h>

/* One line each, so that adding a figure changes one line. */
/* clang-format off */
const struct figure *const measured_figures[] = {
    &figure_cam_fig4a,
    &figure_cam_fig4b,
    &figure_cam_fig4c,
    &figure_cam_15hop,
    &figure_cam_fig5a,
    &figure_cam_fig5b,
    &figure_cam_fig5c,
    &figure_ripc_fig5_5,
    &figure_ripc_flexibility,
    &figure_sst_fig1,
    &figure_sst_fig3,
    &figure_sst_table4,
    &figure_sst_complex,
    &figure_sst_throughput,
    &figure_sst_fig5,
    &figure_sst_fig6,
    &figure_sst_fig7,
    &figure_sst_fig8,
    &figure_sst_fig9,
    NULL,
};
/* clang-format on */
