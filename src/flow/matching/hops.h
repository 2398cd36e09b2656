#pragma once
/* hops: the distances of nodes from up to 512 sources at once, one bit each. Results go to the
 * caller and are not stored, so there is no matrix unless the caller makes one. */

#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

#define HOPS_WORDS 8u
#define HOPS_BATCH (64 * HOPS_WORDS)

/* A set of sources, a cache line. */
struct hops_set {
    uint64_t words[HOPS_WORDS]; /* a bitset: member i is source i */
};

/* Working memory; the graph is borrowed. */
struct hops {
    const struct graph *graph;
    /* Per node: the sources that have reached it, those of them that are new at this level, and
     * those that its neighbours have passed to it. */
    struct hops_set *seen, *now, *next;
    uint32_t *active, *touched; /* lists of nodes */
    uint8_t *marked;            /* is a node in `touched`? */
};

MUST_CHECK enum err hops_init(struct hops *hops, const struct graph *graph, struct why *why);
void hops_fini(struct hops *hops);

/* Reports, in order of distance from 0, which of the sources first reach a node after this many
 * hops. Sources may be equal. */
void hops_search(struct hops *hops, const uint32_t *sources, uint32_t count,
                 void (*reached)(void *context, uint32_t node, const struct hops_set *fresh,
                                 uint32_t distance),
                 void *context);
