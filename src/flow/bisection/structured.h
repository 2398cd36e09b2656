#pragma once
/* structured: halvings that follow a topology's coordinates.
 *
 * For small integers a_i, the phase of a node is the sum of a_i x_i / k_i, in turns. One side has
 * the nodes whose phases are in half a turn, beginning anywhere. With one a_i = 1 the cut consists
 * of two hyperplanes across an axis. With a_i = 1 and a_j = -1 the hyperplanes are diagonal, and
 * with a_i = 2 they are twice as dense: a NovaCube's jump, half a turn on every axis, then changes
 * the phase by whole turns and never crosses the cut. If half a turn is not half of the nodes (odd
 * sizes), the nodes of one phase are divided in order of number, that is, by hyperplanes across the
 * other axes. */

#include "base/err.h"
#include "flow/bisection/search.h"

/* Tries them all, or as many as a fixed amount of work allows; does nothing if the topology has no
 * coordinates. */
MUST_CHECK enum err structured_search(struct search *search, struct why *why);
