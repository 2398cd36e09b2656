#pragma once
/* transition: an order of unplugging and plugging that turns one network into another and keeps it
 * connected after every step. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"

/* Works out the steps from the wiring in `rewire`, which has no actions yet, to the wanted cables,
 * and does them there. Cables are compared as pairs of nodes, with multiplicity; their ports are
 * only preferences. Every node's limit must allow the wanted cables.
 *
 * A wanted cable is plugged as soon as both ends have room; otherwise a cable is unplugged whose
 * removal does not disconnect the network. If no such cable is left (trees, rings), several actions
 * that together keep the network connected make one step. Steps that leave it disconnected remain
 * only if the network before or after is disconnected. */
MUST_CHECK enum err transition_plan(struct rewire *rewire, const struct link *wanted,
                                    uint32_t wanted_count, struct why *why);
