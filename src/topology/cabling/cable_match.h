#pragma once
/* cable_match: which cable that is somewhere else becomes which cable that is
 * missing.
 *
 * A cable here is two ends, an end any number (a node, or a node and port).
 * Two cables that share an end turn into each other by moving one plug, so a
 * largest matching between missing and surplus cables that share an end saves
 * the most moves. */

#include <stdint.h>

#include "base/err.h"

#define MATCH_NONE UINT32_MAX

struct cable_ends {
    uint64_t end[2];
};

/* Fills partner[i], the surplus cable for missing cable i or MATCH_NONE, with
 * a largest matching. Among those it favours exchanges, two missing cables
 * a-b, c-d with the surplus a-d, c-b, for that is how people go wrong. */
MUST_CHECK enum err cable_match(const struct cable_ends *missing, uint32_t missing_count,
                                const struct cable_ends *surplus, uint32_t surplus_count,
                                uint32_t *partner, struct why *why);
