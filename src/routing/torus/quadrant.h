#pragma once
/* quadrant: the boxes between two nodes of a torus.
 *
 * On every axis a packet goes up or down; the choices on all axes span a box from source to
 * destination, which the literature calls a quadrant in any number of dimensions. An algorithm says
 * which sides of the box it takes on an axis and with which probability. This file picks a node of
 * the box: for every axis independently, first the side, then a uniformly random coordinate on
 * it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "routing/torus/compass.h"

struct quadrant_side {
    double share;  /* probability of this side; those of one axis sum to 1 */
    uint32_t hops; /* its length; less than the axis' size */
    bool down;
};

/* Writes the one or two sides on an axis and returns their number. */
typedef uint32_t quadrant_rule(const struct compass *compass, uint32_t axis, uint32_t from,
                               uint32_t to, struct quadrant_side sides[2]);

struct quadrant_pick {
    uint32_t middle;    /* a node of the box */
    uint16_t downwards; /* bit a: the box extends down axis a */
};

/* The shorter side; both if they are equal. */
uint32_t quadrant_short_sides(const struct compass *compass, uint32_t axis, uint32_t from,
                              uint32_t to, struct quadrant_side sides[2]);

/* Refuses a network in which some pair of nodes has more picks than fit into 32 bits; `user` is the
 * name of the algorithm. */
MUST_CHECK enum err quadrant_check(const struct compass *compass, quadrant_rule *rule,
                                   const char *user, struct why *why);

/* Opens a compass for an algorithm that picks by this rule, and checks it. */
MUST_CHECK enum err quadrant_router_open(struct router *router, uint32_t move_max,
                                         uint32_t lane_count, quadrant_rule *rule, struct why *why);

/* The number of picks, the probability of each, and a random pick. */
uint32_t quadrant_count(const struct compass *compass, quadrant_rule *rule, uint32_t from,
                        uint32_t to);
double quadrant_at(const struct compass *compass, quadrant_rule *rule, uint32_t from, uint32_t to,
                   uint32_t index, struct quadrant_pick *pick);
void quadrant_draw(const struct compass *compass, quadrant_rule *rule, uint32_t from, uint32_t to,
                   struct rng *rng, struct quadrant_pick *pick);
