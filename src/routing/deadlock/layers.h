#pragma once
/* layers: routes that would wait for each other in a circle, put apart.
 *
 * Every way a packet may start is put, with all that it may do from there, on
 * one virtual channel that it keeps to its end: the first one whose
 * dependencies stay without a cycle (as LASH does with pairs; Skeie, Lysne
 * and Theiss, IPPS 2002). For path-based algorithms that is whole paths. The
 * number of layers is that of this greedy order, not the least there is. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/deadlock/dependency.h"
#include "routing/route.h"

#define LAYER_MAX 255

struct layers {
    uint32_t count;
    uint64_t dependencies; /* in all of them */
    uint32_t node_count;
    size_t *first;  /* owned; node_count^2 + 1: the starts of from * node_count + to */
    uint8_t *layer; /* owned; of each start */
};

void layers_fini(struct layers *layers);

/* Finds layers for everything a router may do; *found is false, and nothing is
 * kept, where one start alone can close a cycle or LAYER_MAX do not suffice. */
MUST_CHECK enum err layers_find(struct layers *layers, const struct router *router, bool *found,
                                struct observer progress, struct why *why);

/* For dependency_find under LANE_KEPT. */
struct lane_choice layers_choice(const struct layers *layers);
