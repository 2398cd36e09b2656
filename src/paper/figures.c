#include "paper/figures.h"

#include <stddef.h>

/* clang-format off: a line each */
const struct figure *const figures[] = {
    &figure_cam_hops,
    NULL,
};
/* clang-format on */
