/* pora-free: PORA with its jump moved to the front, where it cannot deadlock.
 *
 * A packet compares its jump cable with dimension order once, at its source: it jumps if that makes
 * its path shorter, and with probability one half if both are equally long, as equation 12 says of
 * two equally near neighbours. From then on it goes by dimension order, the shorter way round every
 * axis, and half-way round either way with equal probability. A node whose coordinate is the last
 * of an odd axis has no jump cable: a packet from there may first step off that coordinate, up or
 * down, one axis after the other, and then jump.
 *
 * Deadlock: dimension order with a dateline is free of deadlock with two lanes (compass_lane). On
 * the way up from the last coordinate of an axis it uses only lane 0, because it still has to pass
 * the end of the ring; on the way down only lane 1, because it does not pass the end. The steps
 * before a jump use the other lane of exactly these channels, and a packet that takes one holds
 * nothing, or the channel of such a step on an earlier axis. So packets wait for channels in this
 * order only: steps before a jump, by axis; jumps; dimension order. This holds for every size of
 * every axis.
 *
 * Length: with all axes even, a jump is the same translation at every node, and two jumps cancel.
 * Therefore any shortest path can be taken with its jump, if it has one, at the front: no path is
 * shorter than these. With an odd axis a few paths are longer than the best.
 *
 * State: phase 1 until the packet has jumped, else 0; `downwards`: axes on which it steps down
 * before the jump. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/dor.h"

static enum err pora_free_open(struct router *router, struct why *why)
{
    return compass_router_open(router, 2, 2, why);
}

/* The first axis, from `first` on, on which the node's coordinate has no jump. */
static uint32_t next_blocked(const struct compass *compass, uint32_t node, uint32_t first)
{
    for (uint32_t axis = first; axis < compass->axis_count; axis++) {
        uint32_t size = compass->size[axis];
        if (size > 1 && size % 2 && compass_coordinate(compass, node, axis) == size - 1)
            return axis;
    }
    return compass->axis_count;
}

/* Hops of a path with a jump after the steps in `downwards`; UINT32_MAX if there is no jump
 * cable. */
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

/* Lists the starts of the shortest paths: returns their number; writes the `index`-th to *state
 * unless that is NULL. */
static uint32_t list_starts(const struct compass *compass, uint32_t from, uint32_t to,
                            uint32_t index, struct route_state *state)
{
    uint32_t blocked = 0, count = 0;
    uint32_t walk = compass_distance(compass, from, to), best = walk;
    for (uint32_t axis = 0; (axis = next_blocked(compass, from, axis)) < compass->axis_count;
         axis++)
        blocked |= 1u << axis;
    /* `down` takes every subset of blocked, blocked itself first and the empty one last */
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
                                   .lane = !down, /* dimension order uses the other lane */
                                   .next = *state};
    return 1;
}

const struct route_algorithm route_pora_free = {
    .name = "pora-free",
    .summary = "PORA with its jump at the source only: short paths, free of deadlock",
    .oblivious = true,
    .open = pora_free_open,
    .close = compass_router_close,
    .start_count = pora_free_start_count,
    .start = pora_free_start,
    .moves = pora_free_moves,
};
