#include "paper/figures.h"

#include <stddef.h>

/* One line each, so that adding a figure changes one line. */
/* clang-format off */
const struct figure *const figures[] = {
    &figure_cam_hops,
    &figure_cam_keyspace,
    &figure_nova_build,
    &figure_nova_eq3,
    &figure_nova_eq4,
    &figure_nova_eq7,
    &figure_nova_worst,
    &figure_nova_eq8,
    &figure_nova_eq10,
    &figure_nova_fig4,
    &figure_nova_fig5,
    &figure_nova_deadlock,
    &figure_jelly_fig1c,
    &figure_jelly_fig2a,
    &figure_jelly_fig2b,
    &figure_jelly_fig2c,
    &figure_jelly_fig3,
    &figure_jelly_fig4,
    &figure_jelly_fig5,
    &figure_jelly_fig6,
    &figure_jelly_fig7,
    &figure_jelly_fig8,
    &figure_jelly_fig9,
    &figure_jelly_fig14,
    &figure_jelly_cabling,
    NULL,
};
/* clang-format on */
