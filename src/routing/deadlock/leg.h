#pragma once
/* leg: the first part of the packets' way if it does not depend on their destination
 * (route_algorithm.roams), explored once for all destinations.
 *
 * A packet that can be in a state of the leg can be there on its way to any destination, including
 * its own source. So one packet represents all destinations, and the exploration of each
 * destination continues from the end of the leg. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/deadlock/explore.h"

struct leg_start {
    uint32_t from, start;
};

struct leg {
    struct explore explore; /* the result of leg_next; states that end the leg are in `met` too */
    uint32_t *crossings; /* owned; the entries of explore.met that end the leg, in order of hops */
    size_t crossing_count, crossing_capacity;
    size_t crossed;           /* how many of these leg_cross has passed on */
    struct leg_start *beyond; /* owned; starts that are already beyond the leg */
    size_t beyond_count, beyond_capacity;
};

/* Starts packets from every source; `to` is any destination, as the argument of the algorithm. The
 * rule is not LANE_KEPT. leg_close must be called also on failure. */
MUST_CHECK enum err leg_open(struct leg *leg, const struct router *router, struct lane_rule rule,
                             uint32_t to, struct why *why);
void leg_close(struct leg *leg);

/* Processes the next state of the leg; *more is false if there is none. */
MUST_CHECK enum err leg_next(struct leg *leg, bool *more, struct why *why);

/* Called for each destination after the whole leg is explored: starts in `explore` the packets that
 * are beyond the leg from the beginning. */
MUST_CHECK enum err leg_begin(struct leg *leg, struct explore *explore, struct why *why);

/* Adds to `explore` the packets that end the leg, each before the next state with more hops. */
MUST_CHECK enum err leg_cross(struct leg *leg, struct explore *explore, struct why *why);
