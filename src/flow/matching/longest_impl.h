#pragma once
/* longest_impl: the sizes at which longest_matching changes its method, so that
 * tests can reach every method on small networks. */

#include "flow/matching/longest.h"

struct longest_limits {
    uint32_t whole; /* up to this many units are assigned at once, exactly */
    uint32_t group; /* of more units, this many are reassigned at a time; at least 2 */
    bool symmetry;  /* use that a network looks the same from every node */
};

MUST_CHECK enum err longest_matching_within(struct traffic *traffic,
                                            const struct topology *topology,
                                            struct longest_limits limits,
                                            struct longest_matching *found, struct why *why);
