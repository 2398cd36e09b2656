#pragma once
/* load: the exact expected load of every channel under an algorithm. The probabilities of all moves
 * are followed; nothing is drawn at random. */

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

/* Adds traffic of `amount` from one node to another to channels[2 * links]; adds amount times the
 * mean path to *hops. */
MUST_CHECK enum err load_add(struct load_walk *walk, uint32_t from, uint32_t to, double amount,
                             double *channels, double *hops, struct why *why);

struct load {
    double *channels; /* owned; 2 * links */
    double max;       /* of the busiest channel */
    double mean_path; /* hops, over all traffic that leaves its node; NaN if there is none */
};

void load_fini(struct load *load);

/* The load of a whole traffic. */
MUST_CHECK enum err load_find(struct load *load, const struct router *router,
                              const struct traffic *traffic, struct observer progress,
                              struct why *why);
