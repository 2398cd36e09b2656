#pragma once
/* transition: an order of unplugging and plugging that turns one network into
 * another and keeps it in one piece after every step. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"

/* Works out the steps from the wiring in `rewire` (nothing done yet) to the
 * wanted cables, and does them there. Cables are compared as pairs of nodes,
 * with multiplicity; their ports are wishes. Every node's limit must allow the
 * wanted cables.
 *
 * Whatever has room is plugged; otherwise a cable is unplugged whose loss does
 * not matter. Where no such cable is left (trees, rings), several actions that
 * leave the network whole make one step. Steps that leave it in pieces remain
 * only if the network before or after is in pieces itself. */
MUST_CHECK enum err transition_plan(struct rewire *rewire, const struct link *wanted,
                                    uint32_t wanted_count, struct why *why);
