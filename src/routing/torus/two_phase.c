#include "routing/torus/two_phase.h"

#include "routing/torus/compass.h"
#include "routing/torus/dor.h"

uint32_t two_phase_moves(const struct router *router, uint32_t at, uint32_t to,
                         const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    uint32_t target = state->phase ? to : state->target;
    uint32_t count = dor_moves(compass, at, target, true, moves);
    for (uint32_t i = 0; i < count; i++) {
        moves[i].lane += 2 * state->phase;
        moves[i].next = *state;
        if (!state->phase)
            moves[i].next = two_phase_state(compass_peer(compass, moves[i].channel), target);
    }
    return count;
}
