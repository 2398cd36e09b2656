#pragma once
/* algorithms: all routing algorithms; the table in algorithms.c lists them. */

#include "routing/route.h"

extern const struct route_algorithm route_dor;
extern const struct route_algorithm route_dor_split;
extern const struct route_algorithm route_ecmp;
extern const struct route_algorithm route_k_shortest;
extern const struct route_algorithm route_link_state;
extern const struct route_algorithm route_minimal_adaptive;
extern const struct route_algorithm route_pora;
extern const struct route_algorithm route_pora_around;
extern const struct route_algorithm route_pora_free;
extern const struct route_algorithm route_pora_quadrants;
extern const struct route_algorithm route_pora_raised;
extern const struct route_algorithm route_rlb;
extern const struct route_algorithm route_romm;
extern const struct route_algorithm route_valiant;
