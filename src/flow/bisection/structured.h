#pragma once
/* structured: halvings that follow a topology's coordinates.
 *
 * For small whole numbers a_i the phase of a node is the sum of a_i x_i / k_i,
 * in turns; half a turn of phases, wherever it begins, is one side. With one
 * a_i = 1 these are the two hyperplanes across an axis. With a_i = 1 and a_j =
 * -1 they are diagonal, and with a_i = 2 they lie twice as dense: a NovaCube's
 * jump, half a turn on every axis, then changes the phase by whole turns and
 * never crosses. Where half a turn is not half of the nodes (odd sizes) the
 * nodes of one phase are divided in order of number, that is, by hyperplanes
 * across the other axes. */

#include "base/err.h"
#include "flow/bisection/search.h"

/* Tries them all, or as many as a fixed amount of work allows; does nothing
 * where the topology has no coordinates. */
MUST_CHECK enum err structured_search(struct search *search, struct why *why);
