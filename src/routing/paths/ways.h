#pragma once
/* ways: the ways that packets of one pair take under an algorithm: all of them with their
 * probabilities, or those of a number of random draws. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/name_index.h"
#include "routing/paths/path_set.h"
#include "routing/route.h"

struct ways {
    struct path_set paths; /* one pair, each way once */
    double *shares;        /* owned; per way: its probability, or how often it was drawn */
    size_t share_capacity;
    size_t *order; /* owned; the ways by decreasing share, then increasing hops */

    struct name_index known; /* the ways by their channels */
};

void ways_fini(struct ways *ways);

/* All ways, by following every move. Refuses more than WAYS_MAX ways, and pairs for which the
 * search takes too long. */
#define WAYS_MAX 100000u
MUST_CHECK enum err ways_list(struct ways *ways, const struct router *router, uint32_t from,
                              uint32_t to, struct why *why);

/* The ways of `count` packets. */
MUST_CHECK enum err ways_draw(struct ways *ways, const struct router *router, uint32_t from,
                              uint32_t to, uint32_t count, struct rng *rng, struct why *why);
