#pragma once
/* dor: dimension order, one axis after the other; the part that other algorithms use. */

#include <stdbool.h>
#include <stdint.h>

#include "routing/route.h"
#include "routing/torus/compass.h"

/* Moves along the first axis on which `at` and `target` differ, in the shorter direction: no move
 * if they are the same node; two moves of half a share if the target is half-way round and ties are
 * split; else one. Ties that are not split go up. Sets share, channel and lane (0 or 1, the side of
 * the dateline); the caller sets `next`. No state is needed, because one hop after half-way only
 * one direction is shorter. */
uint32_t dor_moves(const struct compass *compass, uint32_t at, uint32_t target, bool split,
                   struct route_move *moves);
