#pragma once
/* load: what an algorithm is expected to put on every channel, exactly: the
 * probabilities of all moves are followed, none is drawn. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/route.h"
#include "routing/traffic/traffic.h"

/* Working memory for one router; owned, one per thread. */
struct load_walk;

MUST_CHECK enum err load_walk_open(struct load_walk **walk, const struct router *router,
                                   struct why *why);
void load_walk_close(struct load_walk *walk);

/* Adds `amount` from one node to another to channels[2 * links]; *hops grows
 * by amount times the mean path. */
MUST_CHECK enum err load_add(struct load_walk *walk, uint32_t from, uint32_t to, double amount,
                             double *channels, double *hops, struct why *why);

struct load {
    double *channels; /* owned; 2 * links */
    double max;       /* of the busiest */
    double mean_path; /* hops, over all traffic that leaves its node; NaN if none does */
};

void load_fini(struct load *load);

/* All of a traffic. */
MUST_CHECK enum err load_find(struct load *load, const struct router *router,
                              const struct traffic *traffic, struct observer progress,
                              struct why *why);
