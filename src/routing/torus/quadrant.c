#include "routing/torus/quadrant.h"

uint32_t quadrant_short_sides(const struct compass *compass, uint32_t axis, uint32_t from,
                              uint32_t to, struct quadrant_side sides[2])
{
    enum compass_way way = compass_short_way(compass, axis, from, to);
    uint32_t hops = compass_ring_distance(compass, axis, from, to);
    sides[0] = (struct quadrant_side){1, hops, way == COMPASS_DOWN};
    if (way != COMPASS_TIE)
        return 1;
    sides[0].share = 0.5;
    sides[1] = (struct quadrant_side){0.5, hops, true};
    return 2;
}

/* The number of coordinates on the sides of an axis, including the ends of each. */
static uint32_t side_nodes(const struct quadrant_side *sides, uint32_t count)
{
    return count == 2 ? sides[0].hops + sides[1].hops + 2 : sides[0].hops + 1;
}

enum err quadrant_check(const struct compass *compass, quadrant_rule *rule, const char *user,
                        struct why *why)
{
    uint64_t product = 1;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        uint64_t most = 1;
        for (uint32_t at = 1; at < compass->size[axis]; at++) {
            struct quadrant_side sides[2] = {0};
            uint32_t count = rule(compass, axis, 0, at * compass->stride[axis], sides);
            uint32_t nodes = side_nodes(sides, count);
            most = nodes > most ? nodes : most;
        }
        product *= most;
        if (product > UINT32_MAX)
            return why_fail(why, ERR_USAGE,
                            "%s: a packet would have more than 2^32 middle nodes to choose from; "
                            "use a smaller network",
                            user);
    }
    return OK;
}

enum err quadrant_router_open(struct router *router, uint32_t move_max, uint32_t lane_count,
                              quadrant_rule *rule, struct why *why)
{
    enum err err = compass_router_open(router, move_max, lane_count, why);
    if (err)
        return err;
    err = quadrant_check(compass_of(router), rule, router->algorithm->name, why);
    if (err)
        compass_router_close(router);
    return err;
}

uint32_t quadrant_count(const struct compass *compass, quadrant_rule *rule, uint32_t from,
                        uint32_t to)
{
    uint32_t product = 1;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        struct quadrant_side sides[2] = {0};
        uint32_t count = rule(compass, axis, from, to, sides);
        product *= side_nodes(sides, count);
    }
    return product;
}

static void pick_on_axis(const struct compass *compass, uint32_t axis, uint32_t hops, bool down,
                         struct quadrant_pick *pick)
{
    pick->middle = compass_step(compass, pick->middle, axis, down, hops);
    if (down)
        pick->downwards |= (uint16_t)(1u << axis);
}

double quadrant_at(const struct compass *compass, quadrant_rule *rule, uint32_t from, uint32_t to,
                   uint32_t index, struct quadrant_pick *pick)
{
    double share = 1;
    *pick = (struct quadrant_pick){.middle = from};
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        struct quadrant_side sides[2] = {0};
        uint32_t count = rule(compass, axis, from, to, sides);
        uint32_t nodes = side_nodes(sides, count);
        uint32_t hops = index % nodes;
        index /= nodes;
        const struct quadrant_side *side = &sides[0];
        if (hops > side->hops) {
            hops -= side->hops + 1;
            side = &sides[1];
        }
        pick_on_axis(compass, axis, hops, side->down, pick);
        share *= side->share / (side->hops + 1);
    }
    return share;
}

void quadrant_draw(const struct compass *compass, quadrant_rule *rule, uint32_t from, uint32_t to,
                   struct rng *rng, struct quadrant_pick *pick)
{
    *pick = (struct quadrant_pick){.middle = from};
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        struct quadrant_side sides[2] = {0};
        const struct quadrant_side *side = &sides[0];
        if (rule(compass, axis, from, to, sides) == 2 && rng_unit(rng) >= side->share)
            side = &sides[1];
        if (side->hops > 0)
            pick_on_axis(compass, axis, (uint32_t)rng_below(rng, side->hops + 1), side->down, pick);
    }
}
