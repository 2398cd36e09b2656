#pragma once
/* cable_match: decides which misplaced cable is to become which missing cable.
 *
 * A cable here is two ends, and an end is any number (a node, or a node and port). Two cables that
 * share an end turn into each other by moving one plug, so a largest matching between missing and
 * surplus cables that share an end saves the most moves. */

#include <stdint.h>

#include "base/err.h"

#define MATCH_NONE UINT32_MAX

struct cable_ends {
    uint64_t end[2];
};

/* Fills partner[i], the surplus cable for missing cable i or MATCH_NONE, with a largest matching.
 * Among the largest matchings it prefers exchanges (two missing cables a-b and c-d with the surplus
 * cables a-d and c-b), because swapping two plugs is the most common mistake. */
MUST_CHECK enum err cable_match(const struct cable_ends *missing, uint32_t missing_count,
                                const struct cable_ends *surplus, uint32_t surplus_count,
                                uint32_t *partner, struct why *why);
