/* rlb: locality-preserving randomized oblivious routing. Singh, Dally, Towles and Gupta (SPAA
 * 2002). On an axis of size k with the destination d hops away on the shorter way, a packet goes
 * that way with probability (k - d) / k and the longer way with d / k, which loads both directions
 * of the ring equally. Then it goes to a random node of the chosen quadrant, and on to the
 * destination, with the axes in random order in each phase.
 *
 * State: `phase` and `target` as in two_phase.h; `downwards` are the directions of the quadrant,
 * which both phases keep; `order` is 1 + the current axis, which the packet leaves only when it is
 * done with it, or 0 if the next axis is to be drawn. Drawing each axis from the remaining ones is
 * the same as drawing an order of all.
 *
 * Deadlock: axes in any order would close cycles, so a lane is identified by (1) the directions of
 * all long axes but the first of them, and (2) the number of axes on which the packet still has to
 * pass the end of the ring. Passing an end decreases (2). Between ends, all axes but one are
 * travelled in one direction only, and on that one no packet turns round: no dependency leads back
 * (after Linder and Harden, 1991). These are 2^(n-1) (n+1) lanes. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/quadrant.h"

static uint32_t rlb_sides(const struct compass *compass, uint32_t axis, uint32_t from, uint32_t to,
                          struct quadrant_side sides[2])
{
    uint32_t size = compass->size[axis], up = compass_ahead(compass, axis, from, to, false);
    assert(size > 0);
    sides[0] = (struct quadrant_side){1, up, false};
    if (up == 0 || size == 2) /* there is only one cable */
        return 1;
    sides[0].share = (double)(size - up) / size;
    sides[1] = (struct quadrant_side){(double)up / size, size - up, true};
    return 2;
}

/* Axes with two cables at each node. */
static uint32_t long_axes(const struct compass *compass)
{
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++)
        count += compass->size[axis] > 2;
    return count;
}

static enum err rlb_open(struct router *router, struct why *why)
{
    enum err err = quadrant_router_open(router, 1, 1, rlb_sides, why);
    if (err)
        return err;
    const struct compass *compass = compass_of(router);
    uint32_t axes = long_axes(compass);
    router->move_max = compass->axis_count;
    router->lane_count = (1u << (axes ? axes - 1 : 0)) * (compass->axis_count + 1);
    return OK;
}

static struct route_state rlb_state(uint32_t at, uint32_t middle, uint16_t downwards)
{
    struct route_state state = {.downwards = downwards};
    if (at == middle)
        state.phase = 1;
    else
        state.target = middle;
    return state;
}

static uint32_t rlb_start_count(const struct router *router, uint32_t from, uint32_t to)
{
    return quadrant_count(compass_of(router), rlb_sides, from, to);
}

static double rlb_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                        struct route_state *state)
{
    struct quadrant_pick pick;
    double share = quadrant_at(compass_of(router), rlb_sides, from, to, index, &pick);
    *state = rlb_state(from, pick.middle, pick.downwards);
    return share;
}

static void rlb_draw(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                     struct route_state *state)
{
    struct quadrant_pick pick;
    quadrant_draw(compass_of(router), rlb_sides, from, to, rng, &pick);
    *state = rlb_state(from, pick.middle, pick.downwards);
}

static uint32_t rlb_lane(const struct compass *compass, uint32_t at, uint32_t to,
                         uint16_t downwards)
{
    uint32_t directions = 0, ends = 0;
    bool first = true;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        bool down = downwards >> axis & 1;
        if (compass_coordinate(compass, at, axis) != compass_coordinate(compass, to, axis))
            ends += compass_lane(compass, axis, at, to, down) == 0;
        if (compass->size[axis] <= 2)
            continue;
        if (!first)
            directions = 2 * directions + down;
        first = false;
    }
    return directions * (compass->axis_count + 1) + ends;
}

static struct route_move rlb_move(const struct compass *compass, uint32_t at, uint32_t target,
                                  uint32_t axis, const struct route_state *state)
{
    bool down = state->downwards >> axis & 1;
    struct route_move move = {.channel = compass_channel(compass, at, axis, down)};
    uint32_t there = compass_peer(compass, move.channel);
    move.next = *state;
    if (!state->phase && there == target)
        move.next = rlb_state(there, target, state->downwards);
    else if (compass_coordinate(compass, there, axis) == compass_coordinate(compass, target, axis))
        move.next.order = 0;
    else
        move.next.order = (uint8_t)(axis + 1);
    return move;
}

static uint32_t rlb_moves(const struct router *router, uint32_t at, uint32_t to,
                          const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    uint32_t target = state->phase ? to : state->target, count = 0;
    uint32_t lane = rlb_lane(compass, at, to, state->downwards);
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        if (state->order && axis + 1 != state->order)
            continue;
        if (compass_coordinate(compass, at, axis) != compass_coordinate(compass, target, axis))
            moves[count++] = rlb_move(compass, at, target, axis, state);
    }
    for (uint32_t i = 0; i < count; i++) {
        moves[i].share = 1.0 / count;
        moves[i].lane = lane;
    }
    return count;
}

const struct route_algorithm route_rlb = {
    .name = "rlb",
    .summary = "through a random node of a random quadrant, near ones preferred; torus cables only",
    .oblivious = true,
    .open = rlb_open,
    .close = compass_router_close,
    .start_count = rlb_start_count,
    .start = rlb_start,
    .draw = rlb_draw,
    .moves = rlb_moves,
};
