#pragma once
/* joint_step: steps of several actions, where no single one leaves the network
 * whole. */

#include "topology/change/transition_impl.h"

/* A step of several actions that leaves no more parts than there are; the
 * bridges are up to date. Commits it, or does nothing if none was found. */
MUST_CHECK enum err joint_step(struct transition *transition, bool *done, struct why *why);
