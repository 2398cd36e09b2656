#pragma once
/* Routing for tests that depends on no other file: round a ring, always up, or by either of two
 * ways; lanes change at the end of the ring on request. */

#include <stdbool.h>

#include "routing/route_start.h"

static uint32_t ring_up(const struct router *router, uint32_t at)
{
    const struct graph *graph = &router->topology->graph;
    for (uint32_t i = graph->first[at]; i < graph->first[at + 1]; i++)
        if (graph_channel_port(graph, graph->channel[i]) == 0)
            return graph->channel[i];
    assert(!"every node of a ring has an up port");
    return 0;
}

/* state.phase: 1 after the packet has passed from the last node to node 0. From there on it uses
 * lane 1, if there are two lanes. */
static uint32_t ring_moves(const struct router *router, uint32_t at, uint32_t to,
                           const struct route_state *state, struct route_move *moves)
{
    if (at == to)
        return 0;
    uint8_t phase = state->phase;
    if (router->lane_count > 1 && at == router->topology->graph.node_count - 1)
        phase = 1;
    moves[0] = (struct route_move){.share = 1, .channel = ring_up(router, at), .lane = phase};
    moves[0].next.phase = phase;
    return 1;
}

/* The same lanes, and lane 2, from which a packet may return to them: adaptive, with lanes 0 and 1
 * to escape to. Phase 2: the packet has escaped, and stays there. */
static uint32_t ring_adaptive_moves(const struct router *router, uint32_t at, uint32_t to,
                                    const struct route_state *state, struct route_move *moves)
{
    struct route_state plain = {.phase = state->phase & 1};
    if (!ring_moves(router, at, to, &plain, moves))
        return 0;
    moves[1] = moves[0];
    moves[1].lane = 2;
    moves[0].next.phase |= 2;
    if (router->escape_lanes && state->phase & 2)
        return 1;
    moves[0].share = moves[1].share = 0.5;
    return 2;
}

static const struct route_algorithm ring_algorithm = {
    .name = "ring",
    .oblivious = true,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = ring_moves,
};

static const struct route_algorithm ring_adaptive_algorithm = {
    .name = "ring-adaptive",
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = ring_adaptive_moves,
};

static inline struct router ring_router(const struct topology *topology, uint32_t lanes)
{
    return (struct router){
        .algorithm = lanes > 2 ? &ring_adaptive_algorithm : &ring_algorithm,
        .topology = topology,
        .move_max = 2,
        .lane_count = lanes,
    };
}
