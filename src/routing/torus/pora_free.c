/* pora-free: PORA with its jump moved to the front, where it cannot deadlock.
 *
 * A packet weighs its jump cable against dimension order once, at its source:
 * it jumps if that makes its way shorter, and where both are as long with one
 * half, as equation 12 says of two neighbours that are as near. From then on
 * it goes by dimension order, the short way round every axis, half-way round
 * either way evenly. A node whose coordinate is the last of an odd axis has no
 * jump cable: a packet from there may first step off that coordinate, up or
 * down, one axis after the other, and then jump.
 *
 * Deadlock: dimension order with a dateline is free with two lanes
 * (compass_lane). On the way up from the last coordinate of an axis it uses
 * lane 0 only, as the end of the ring is to be passed; on the way down lane 1
 * only, as it is not. The steps before a jump use the other lane of just these
 * channels, each by packets that hold nothing or such a step on an earlier
 * axis. So what can be waited for is, in this order: steps before a jump, by
 * axis; jumps; dimension order. This holds for every size of every axis.
 *
 * Length: with all axes even a jump is the same translation wherever it is
 * taken, and two of them cancel. Any shortest way can therefore be taken with
 * its one jump, if it has one, at the front: no way is shorter than these. With
 * an odd axis a few ways are longer than the best.
 *
 * State: phase 1 until it has jumped, else 0; `downwards`: axes on which it
 * steps down before. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/dor.h"

static enum err pora_free_open(struct router *router, struct why *why)
{
    return compass_router_open(router, 2, 2, why);
}

/* The first axis, from `first` on, on which a node has no part in jumps. */
static uint32_t next_blocked(const struct compass *compass, uint32_t node, uint32_t first)
{
    for (uint32_t axis = first; axis < compass->axis_count; axis++) {
        uint32_t size = compass->size[axis];
        if (size > 1 && size % 2 && compass_coordinate(compass, node, axis) == size - 1)
            return axis;
    }
    return compass->axis_count;
}

/* Hops by way of a jump, after the steps that `downwards` says; UINT32_MAX if
 * there is no cable to jump over. */
static uint32_t jump_hops(const struct compass *compass, uint32_t from, uint32_t to,
                          uint16_t downwards)
{
    uint32_t hops = 1;
    for (uint32_t axis = 0; (axis = next_blocked(compass, from, axis)) < compass->axis_count;
         axis++, hops++)
        from = compass_step(compass, from, axis, downwards >> axis & 1, 1);
    uint32_t channel = compass_jump_channel(compass, from);
    if (channel == CHANNEL_NONE)
        return UINT32_MAX;
    return hops + compass_distance(compass, compass_peer(compass, channel), to);
}

/* The ways of starting that are as short as any: their number; the `index`-th
 * of them is written to *state unless that is NULL. */
static uint32_t list_starts(const struct compass *compass, uint32_t from, uint32_t to,
                            uint32_t index, struct route_state *state)
{
    uint32_t blocked = 0, count = 0;
    uint32_t walk = compass_distance(compass, from, to), best = walk;
    for (uint32_t axis = 0; (axis = next_blocked(compass, from, axis)) < compass->axis_count;
         axis++)
        blocked |= 1u << axis;
    /* down takes every subset of blocked, itself first and the empty one last */
    for (uint32_t down = blocked;; down = (down - 1) & blocked) {
        uint32_t hops = jump_hops(compass, from, to, (uint16_t)down);
        best = hops < best ? hops : best;
        if (!down)
            break;
    }
    for (uint32_t down = blocked;; down = (down - 1) & blocked) {
        if (jump_hops(compass, from, to, (uint16_t)down) == best && count++ == index && state)
            *state = (struct route_state){.downwards = (uint16_t)down, .phase = 1};
        if (!down)
            break;
    }
    if (walk == best && count++ == index && state)
        *state = (struct route_state){0};
    return count;
}

static uint32_t pora_free_start_count(const struct router *router, uint32_t from, uint32_t to)
{
    return list_starts(compass_of(router), from, to, 0, NULL);
}

static double pora_free_start(const struct router *router, uint32_t from, uint32_t to,
                              uint32_t index, struct route_state *state)
{
    uint32_t count = list_starts(compass_of(router), from, to, index, state);
    assert(index < count);
    return 1.0 / count;
}

static uint32_t pora_free_moves(const struct router *router, uint32_t at, uint32_t to,
                                const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    if (!state->phase)
        return dor_moves(compass, at, to, true, moves);
    uint32_t axis = next_blocked(compass, at, 0);
    if (axis == compass->axis_count) {
        moves[0] = (struct route_move){.share = 1, .channel = compass_jump_channel(compass, at)};
        return 1;
    }
    bool down = state->downwards >> axis & 1;
    moves[0] = (struct route_move){.share = 1,
                                   .channel = compass_channel(compass, at, axis, down),
                                   .lane = !down, /* dimension order has the other one */
                                   .next = *state};
    return 1;
}

const struct route_algorithm route_pora_free = {
    .name = "pora-free",
    .summary = "PORA with its jump at the source only: short ways, free of deadlock",
    .oblivious = true,
    .open = pora_free_open,
    .close = compass_router_close,
    .start_count = pora_free_start_count,
    .start = pora_free_start,
    .moves = pora_free_moves,
};
