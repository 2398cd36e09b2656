/* valiant: first to a node drawn uniformly from all nodes, then to the destination. Valiant and
 * Brebner, "Universal schemes for parallel communication" (STOC 1981). Under any traffic, each
 * phase loads the network like uniform traffic, so the worst case is half of capacity, and no
 * algorithm has a better one.
 *
 * The middle node may be the source or the destination. A packet from a node to itself travels too:
 * only then does every traffic load the network like twice the uniform traffic. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/two_phase.h"

static enum err valiant_open(struct router *router, struct why *why)
{
    return compass_router_open(router, TWO_PHASE_MOVES, TWO_PHASE_LANES, why);
}

static uint32_t valiant_start_count(const struct router *router, uint32_t from, uint32_t to)
{
    return compass_of(router)->node_count;
}

static double valiant_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                            struct route_state *state)
{
    uint32_t nodes = compass_of(router)->node_count;
    assert(nodes > 0);
    *state = two_phase_state(from, index);
    return 1.0 / nodes;
}

static void valiant_draw(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                         struct route_state *state)
{
    *state = two_phase_state(from, (uint32_t)rng_below(rng, compass_of(router)->node_count));
}

const struct route_algorithm route_valiant = {
    .name = "valiant",
    .summary = "to a random node, then to the destination, on torus cables",
    .oblivious = true,
    .roams = true,
    .open = valiant_open,
    .close = compass_router_close,
    .start_count = valiant_start_count,
    .start = valiant_start,
    .draw = valiant_draw,
    .moves = two_phase_moves,
};
