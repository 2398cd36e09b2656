#pragma once
/* bridges: the cables without which a network falls apart, all in one search.
 *
 * The answer describes the wiring at the time of bridges_find; plugging or
 * unplugging makes it stale. The arrays are owned and reused from search to
 * search. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

struct bridges {
    uint32_t *below; /* per cable: the node at its far end as the search met it; NODE_NONE: no
                      * bridge */
    uint32_t *enter; /* per node: when the search met it */
    uint32_t *leave; /* per node: one more than the last met below it */
    uint32_t *low;   /* per node: the earliest node met that lies in reach below it */
    uint32_t *via;   /* per node: the cable it was met through */
    uint32_t *path;  /* nodes from the root of the search down */
    uint64_t *next;  /* per node: the port to look at next */
};

/* Room for any state of this wiring. */
MUST_CHECK enum err bridges_init(struct bridges *bridges, const struct wiring *wiring,
                                 struct why *why);
void bridges_fini(struct bridges *bridges);

void bridges_find(struct bridges *bridges, const struct wiring *wiring);

static inline bool bridges_has(const struct bridges *bridges, uint32_t cable)
{
    return bridges->below[cable] != NODE_NONE;
}

/* Does this bridge lie between the two nodes? */
bool bridges_part(const struct bridges *bridges, uint32_t cable, uint32_t one, uint32_t other);
