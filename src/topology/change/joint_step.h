#pragma once
/* joint_step: steps of several actions, for the case that no single action keeps the network
 * connected. */

#include "topology/change/transition_impl.h"

/* Finds a step of several actions that does not increase the number of parts; the bridges must be
 * up to date. Commits the step, or does nothing if none was found. */
MUST_CHECK enum err joint_step(struct transition *transition, bool *done, struct why *why);
