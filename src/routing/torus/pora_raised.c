/* pora-raised: PORA's own routes, hop for hop and with their probabilities, on one more virtual
 * channel, which makes them free of deadlock.
 *
 * The first step of `pora` closes its cycles: a hop on any axis, even away from the destination,
 * after which dimension order starts again. Here those hops have a lane of their own, 2, and a jump
 * from within the box has lane 1, while a jump at the source has lane 0.
 *
 * Deadlock: order the virtual channels like this: jumps at the source; lane 2; lanes 0 and 1, in
 * the order of their axes and within each ring by the dateline; jumps from within a box. Packets
 * wait only for later channels: a jump at the source is taken by packets that hold nothing; lane 2
 * by packets that hold nothing or such a jump; packets that hold lane 2 are in their box, where
 * they go by dimension order (compass_lane). A jump from within a box is the last hop;
 * docs/deadlock.md has the proof.
 *
 * State: that of `pora`. */
#include "routing/algorithms.h"
#include "routing/route_start.h"
#include "routing/torus/compass.h"
#include "routing/torus/pora_impl.h"

enum { FIRST_LANE = 2, LAST_JUMP_LANE = 1, LANES = 3 };

static enum err pora_raised_open(struct router *router, struct why *why)
{
    enum err err = route_pora.open(router, why);
    router->lane_count = LANES;
    return err;
}

static uint32_t pora_raised_moves(const struct router *router, uint32_t at, uint32_t to,
                                  const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    uint32_t count = route_pora.moves(router, at, to, state, moves);
    bool in_box = state->phase == PORA_IN_BOX;
    for (uint32_t i = 0; i < count; i++) {
        bool jump = moves[i].channel == compass_jump_channel(compass, at);
        if (jump && in_box)
            moves[i].lane = LAST_JUMP_LANE;
        else if (!jump && !in_box)
            moves[i].lane = FIRST_LANE;
    }
    return count;
}

const struct route_algorithm route_pora_raised = {
    .name = "pora-raised",
    .summary = "PORA's routes with a third lane for the first step: free of deadlock",
    .oblivious = true,
    .open = pora_raised_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = pora_raised_moves,
};
