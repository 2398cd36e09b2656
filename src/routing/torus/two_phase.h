#pragma once
/* two_phase: by dimension order to a middle node, then on to the destination. Valiant's algorithm
 * and ROMM share this; they differ in how they choose the middle node.
 *
 * State: in phase 0 the packet is heading for the middle node `target`; in phase 1 it is heading
 * for the destination, with `target` 0, so that all ways that have reached their middle node have
 * the same state. Ties half-way round a ring are split evenly.
 *
 * Deadlock: each phase has its own two lanes (0 and 1, then 2 and 3), each phase is dimension
 * order, and no packet returns to the first phase. */

#include <stdint.h>

#include "routing/route.h"

enum { TWO_PHASE_MOVES = 2, TWO_PHASE_LANES = 4 };

/* The state of a packet at `at` that goes through `middle`. */
static inline struct route_state two_phase_state(uint32_t at, uint32_t middle)
{
    if (at == middle)
        return (struct route_state){.phase = 1};
    return (struct route_state){.target = middle};
}

uint32_t two_phase_moves(const struct router *router, uint32_t at, uint32_t to,
                         const struct route_state *state, struct route_move *moves);
