#pragma once
/* drain: a proof that packets always move on, or how far the attempt got.
 *
 * A virtual channel drains if every packet that can wait in it waits for a channel that drains
 * (under adaptive routing: for at least one such channel). Channels from which packets only arrive
 * drain first; the order of draining is a numbering. If all channels drain, there is no deadlock:
 * of the channels that hold packets, take the one with the lowest number; its first packet has
 * arrived, or it may move to a channel with a lower number, which is empty. Under oblivious
 * routing, all channels drain exactly if the dependency graph has no cycle (Dally and Seitz 1987).
 *
 * The argument requires that a packet fits into the channel that it moves to, as with
 * store-and-forward and virtual cut-through; `wormhole` in deadlock.h says whether it holds for
 * wormhole routing as well. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/deadlock/dependency.h"

#define DRAIN_STUCK UINT32_MAX

struct drain {
    uint32_t *number; /* owned; per virtual channel: its place in the order, or DRAIN_STUCK */
    uint32_t drained; /* how many channels have a place */
};

void drain_fini(struct drain *drain);

MUST_CHECK enum err drain_find(struct drain *drain, const struct dependency *dependency,
                               struct why *why);

/* Does the wait lead to a lower number? */
bool drain_holds(const struct drain *drain, const struct dependency *dependency, uint32_t wait);
