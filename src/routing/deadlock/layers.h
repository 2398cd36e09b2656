#pragma once
/* layers: separates routes that would wait for each other in a circle.
 *
 * Every way in which a packet may start is assigned, with everything that it may do from there, to
 * one virtual channel that it keeps to its end: the first one whose dependencies stay free of
 * cycles (as LASH does with pairs; Skeie, Lysne and Theiss, IPPS 2002). For path-based algorithms,
 * a start is a whole path. The number of layers is the result of this greedy order, not the
 * minimum. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/deadlock/dependency.h"
#include "routing/route.h"

#define LAYER_MAX 255

struct layers {
    uint32_t count;
    uint64_t dependencies; /* in all layers together */
    uint32_t node_count;
    size_t *first;  /* owned; node_count^2 + 1: the starts of from * node_count + to */
    uint8_t *layer; /* owned; per start */
};

void layers_fini(struct layers *layers);

/* Finds layers for everything that a router may do. *found is false, and nothing is kept, if one
 * start alone can close a cycle or LAYER_MAX layers are not enough. */
MUST_CHECK enum err layers_find(struct layers *layers, const struct router *router, bool *found,
                                struct observer progress, struct why *why);

/* The lanes for dependency_find under LANE_KEPT. */
struct lane_choice layers_choice(const struct layers *layers);
