/* romm: first to a random node of the minimal quadrant, then to the destination, so that every path
 * is a shortest one. Nesson and Johnsson, "ROMM routing on mesh and torus networks" (SPAA 1995),
 * with two phases. Both use the same order of axes.
 *
 * If the destination is half-way round an axis, there are two minimal quadrants, and each is taken
 * with probability one half. The state does not record which one: the shorter way from the middle
 * node is the way that was taken, or the destination is half-way round again. */
#include "routing/algorithms.h"
#include "routing/torus/compass.h"
#include "routing/torus/quadrant.h"
#include "routing/torus/two_phase.h"

static enum err romm_open(struct router *router, struct why *why)
{
    return quadrant_router_open(router, TWO_PHASE_MOVES, TWO_PHASE_LANES, quadrant_short_sides,
                                why);
}

static uint32_t romm_start_count(const struct router *router, uint32_t from, uint32_t to)
{
    return quadrant_count(compass_of(router), quadrant_short_sides, from, to);
}

static double romm_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                         struct route_state *state)
{
    struct quadrant_pick pick;
    double share = quadrant_at(compass_of(router), quadrant_short_sides, from, to, index, &pick);
    *state = two_phase_state(from, pick.middle);
    return share;
}

static void romm_draw(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                      struct route_state *state)
{
    struct quadrant_pick pick;
    quadrant_draw(compass_of(router), quadrant_short_sides, from, to, rng, &pick);
    *state = two_phase_state(from, pick.middle);
}

const struct route_algorithm route_romm = {
    .name = "romm",
    .summary = "to a random node in between, then to the destination, on shortest torus paths",
    .oblivious = true,
    .open = romm_open,
    .close = compass_router_close,
    .start_count = romm_start_count,
    .start = romm_start,
    .draw = romm_draw,
    .moves = two_phase_moves,
};
