#pragma once
/* leg: the first part of packets' journeys where that is the same whatever
 * their destination (route_algorithm.roams), explored once for all of them.
 *
 * A packet that can be in a state of the leg can be there on its way to any
 * destination, its own source included. So one stands for all, and so it does
 * where it ends the leg: each destination's exploration meets it there. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/deadlock/explore.h"

struct leg_start {
    uint32_t from, start;
};

struct leg {
    struct explore explore; /* what leg_next gives; those that end the leg are met too */
    uint32_t *crossings;    /* owned; those of explore.met that end it, in order of hops */
    size_t crossing_count, crossing_capacity;
    size_t crossed;           /* of them, that leg_cross has handed over */
    struct leg_start *beyond; /* owned; starts that have the leg behind them */
    size_t beyond_count, beyond_capacity;
};

/* From every source; `to`, any destination, is the one its packets name. The rule
 * is not LANE_KEPT. Whether it fails or not, leg_close frees what it keeps. */
MUST_CHECK enum err leg_open(struct leg *leg, const struct router *router, struct lane_rule rule,
                             uint32_t to, struct why *why);
void leg_close(struct leg *leg);

/* Goes on from the next state of the leg; *more is false when there is none. */
MUST_CHECK enum err leg_next(struct leg *leg, bool *more, struct why *why);

/* Once all the leg is explored, for each destination: starts in `explore` what
 * has no leg to make, */
MUST_CHECK enum err leg_begin(struct leg *leg, struct explore *explore, struct why *why);

/* and lets it meet those who end the leg before its next state's turn. */
MUST_CHECK enum err leg_cross(struct leg *leg, struct explore *explore, struct why *why);
