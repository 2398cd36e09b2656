#include <stddef.h>

#include "routing/algorithms.h"

/* One algorithm per line, so that adding one is easy. */
/* clang-format off */
const struct route_algorithm *const route_algorithms[] = {
    &route_dor,
    &route_dor_split,
    &route_valiant,
    &route_romm,
    &route_rlb,
    &route_minimal_adaptive,
    &route_pora,
    &route_pora_around,
    &route_pora_quadrants,
    &route_pora_free,
    &route_pora_raised,
    &route_ecmp,
    &route_k_shortest,
    &route_link_state,
    NULL,
};
/* clang-format on */
