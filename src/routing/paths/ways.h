#pragma once
/* ways: the ways that packets of one pair take under an algorithm: all of
 * them with their probabilities, or those of a number of draws. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/name_index.h"
#include "routing/paths/path_set.h"
#include "routing/route.h"

struct ways {
    struct path_set paths; /* one pair, each way once */
    double *shares;        /* owned; of each way: its probability, or how often it was drawn */
    size_t share_capacity;
    size_t *order; /* owned; the ways, greatest share first, then least hops */

    struct name_index known; /* the ways by their channels */
};

void ways_fini(struct ways *ways);

/* All, by following every move. Refuses where there are more than WAYS_MAX, or
 * where finding them takes too long. */
#define WAYS_MAX 100000u
MUST_CHECK enum err ways_list(struct ways *ways, const struct router *router, uint32_t from,
                              uint32_t to, struct why *why);

/* Those of `count` packets. */
MUST_CHECK enum err ways_draw(struct ways *ways, const struct router *router, uint32_t from,
                              uint32_t to, uint32_t count, struct rng *rng, struct why *why);
