#pragma once
/* dor: dimension order, the way along one axis after the other; the part that
 * other algorithms build on. */

#include <stdbool.h>
#include <stdint.h>

#include "routing/route.h"
#include "routing/torus/compass.h"

/* Moves along the first axis on which `at` and `target` differ, the short way:
 * none if they are the same node; two of half a share where it is half-way
 * round and ties are split, else one. Ties that are not split go up. Sets
 * share, channel and lane (0 or 1, the side of the dateline); the caller says
 * what is next. No state is needed, as one hop from half-way only one way is
 * short. */
uint32_t dor_moves(const struct compass *compass, uint32_t at, uint32_t target, bool split,
                   struct route_move *moves);
