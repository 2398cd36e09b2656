/* pora-free: PORA with its jump moved to the front, where it cannot deadlock.
 *
 * A packet weighs its jump cable against dimension order once, at its source,
 * by the requirement of PORA's second step: it jumps if that brings it nearer
 * than the neighbour that dimension order would take. Where both are as near
 * equation 12 gives each one half. From then on it goes by dimension order,
 * the short way round every axis, half-way round either way evenly.
 *
 * Deadlock: nobody waits for a jump channel, since a packet takes one before
 * it holds anything; so no cycle of waits has a jump channel in it. What is
 * left is dimension order with a dateline, which two lanes keep free
 * (compass_lane). This holds for every size of every axis.
 *
 * Length: with all axes even a jump is the same translation wherever it is
 * taken, and two of them cancel. Any shortest way can therefore be taken with
 * its one jump, if it has one, at the front: no way is shorter than these. With
 * an odd axis some nodes have no jump and a few ways are longer than the best.
 *
 * State: phase 1 until it has jumped, else 0. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/dor.h"

static enum err pora_free_open(struct router *router, struct why *why)
{
    return compass_router_open(router, 2, 2, why);
}

/* The probability of a jump at the source. */
static double jump_share(const struct router *router, uint32_t from, uint32_t to)
{
    const struct compass *compass = compass_of(router);
    uint32_t channel = compass_jump_channel(compass, from);
    if (channel == CHANNEL_NONE || from == to)
        return 0;
    uint32_t beyond = graph_channel_to(&router->topology->graph, channel);
    uint32_t far = compass_distance(compass, beyond, to);
    uint32_t walk = compass_distance(compass, from, to);
    return far + 1 < walk ? 1 : far + 1 == walk ? 0.5 : 0;
}

static bool is_split(double share)
{
    return share > 0 && share < 1;
}

static uint32_t pora_free_start_count(const struct router *router, uint32_t from, uint32_t to)
{
    return is_split(jump_share(router, from, to)) ? 2 : 1;
}

static double pora_free_start(const struct router *router, uint32_t from, uint32_t to,
                              uint32_t index, struct route_state *state)
{
    double share = jump_share(router, from, to);
    bool jumps = share > 0 && index == 0;
    *state = (struct route_state){.phase = jumps};
    return is_split(share) ? (jumps ? share : 1 - share) : 1;
}

static uint32_t pora_free_moves(const struct router *router, uint32_t at, uint32_t to,
                                const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    if (!state->phase)
        return dor_moves(compass, at, to, true, moves);
    moves[0] = (struct route_move){.share = 1, .channel = compass_jump_channel(compass, at)};
    return 1;
}

const struct route_algorithm route_pora_free = {
    .name = "pora-free",
    .summary = "PORA with its jump at the source only: shortest ways, free of deadlock",
    .oblivious = true,
    .open = pora_free_open,
    .close = compass_router_close,
    .start_count = pora_free_start_count,
    .start = pora_free_start,
    .moves = pora_free_moves,
};
