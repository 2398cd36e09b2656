#pragma once
/* drain: a proof that packets always move on, or what is left of the attempt.
 *
 * A virtual channel drains if every packet that can wait in it waits for one
 * that drains (under adaptive routing: for at least one such). Those from
 * which packets only arrive drain first; the order of draining is a numbering.
 * If all drain there is no deadlock: of the channels that hold packets, take
 * the one with the lowest number; its first packet may go on to one with a
 * lower number, which is empty, or has arrived. Under oblivious routing all
 * drain exactly if the dependency graph has no cycle (Dally and Seitz 1987).
 *
 * The argument needs a packet to fit into the channel it goes to, as under
 * store-and-forward and virtual cut-through; deadlock.h says when it holds for
 * wormhole routing as well. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/deadlock/dependency.h"

#define DRAIN_STUCK UINT32_MAX

struct drain {
    uint32_t *number; /* owned; of each virtual channel: its place in the order,
                       * or DRAIN_STUCK */
    uint32_t drained; /* how many have one */
};

void drain_fini(struct drain *drain);

MUST_CHECK enum err drain_find(struct drain *drain, const struct dependency *dependency,
                               struct why *why);

/* Whether a wait leads to a lower number. */
bool drain_holds(const struct drain *drain, const struct dependency *dependency, uint32_t wait);
