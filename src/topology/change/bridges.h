#pragma once
/* bridges: the cables whose removal disconnects a network, all found in one search.
 *
 * The result describes the wiring at the time of bridges_find; plugging or unplugging makes it
 * stale. The arrays are owned and reused by the next search. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

struct bridges {
    uint32_t *below; /* per cable: its far end in the search; NODE_NONE: not a bridge */
    uint32_t *enter; /* per node: its number in the order of the search */
    uint32_t *leave; /* per node: one more than the largest number in its subtree */
    uint32_t *low;   /* per node: the smallest number that its subtree reaches */
    uint32_t *via;   /* per node: the cable through which the search reached it */
    uint32_t *path;  /* nodes from the root of the search to the current one */
    uint64_t *next;  /* per node: the port to look at next */
};

/* Reserves room for any state of this wiring. */
MUST_CHECK enum err bridges_init(struct bridges *bridges, const struct wiring *wiring,
                                 struct why *why);
void bridges_fini(struct bridges *bridges);

void bridges_find(struct bridges *bridges, const struct wiring *wiring);

static inline bool bridges_has(const struct bridges *bridges, uint32_t cable)
{
    return bridges->below[cable] != NODE_NONE;
}

/* Does removing this bridge separate the two nodes? */
bool bridges_part(const struct bridges *bridges, uint32_t cable, uint32_t one, uint32_t other);
