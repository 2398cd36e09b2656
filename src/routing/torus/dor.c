/* dor: dimension-order routing on torus cables; a NovaCube's jumps are not used. The state is
 * empty: node and destination determine everything.
 *
 * Deadlock: an axis is left before the next is entered, and within a ring the lane is the side of
 * the dateline (compass_lane), so two lanes are enough. */
#include "routing/torus/dor.h"

#include "routing/algorithms.h"
#include "routing/route_start.h"

static struct route_move ring_move(const struct compass *compass, uint32_t axis, uint32_t at,
                                   uint32_t target, bool down, double share)
{
    return (struct route_move){.share = share,
                               .channel = compass_channel(compass, at, axis, down),
                               .lane = compass_lane(compass, axis, at, target, down)};
}

uint32_t dor_moves(const struct compass *compass, uint32_t at, uint32_t target, bool split,
                   struct route_move *moves)
{
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        enum compass_way way = compass_short_way(compass, axis, at, target);
        if (way == COMPASS_HERE)
            continue;
        if (way == COMPASS_TIE && split) {
            moves[0] = ring_move(compass, axis, at, target, false, 0.5);
            moves[1] = ring_move(compass, axis, at, target, true, 0.5);
            return 2;
        }
        moves[0] = ring_move(compass, axis, at, target, way == COMPASS_DOWN, 1);
        return 1;
    }
    return 0;
}

static enum err dor_open(struct router *router, struct why *why)
{
    return compass_router_open(router, 1, 2, why);
}

static enum err dor_split_open(struct router *router, struct why *why)
{
    return compass_router_open(router, 2, 2, why);
}

static uint32_t one_way_moves(const struct router *router, uint32_t at, uint32_t to,
                              const struct route_state *state, struct route_move *moves)
{
    return dor_moves(compass_of(router), at, to, false, moves);
}

static uint32_t split_moves(const struct router *router, uint32_t at, uint32_t to,
                            const struct route_state *state, struct route_move *moves)
{
    return dor_moves(compass_of(router), at, to, true, moves);
}

const struct route_algorithm route_dor = {
    .name = "dor",
    .summary = "dimension order on torus cables; ties half-way round a ring go up",
    .oblivious = true,
    .open = dor_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = one_way_moves,
};

const struct route_algorithm route_dor_split = {
    .name = "dor-split",
    .summary = "dimension order on torus cables; ties half-way round a ring are split evenly",
    .oblivious = true,
    .open = dor_split_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = split_moves,
};
