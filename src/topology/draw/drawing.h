#pragma once
/* drawing: a topology as an SVG picture, readable up to a few hundred nodes.
 *
 * In a grid, cables along different axes have different colours, and a wraparound cable is bent.
 * Cables that follow no axis are dashed: the jumps of a NovaCube, and random cables. The servers of
 * a switch are small dots beside it. Every node and cable has a tooltip with its name and ports. */

#include "base/err.h"
#include "base/text.h"
#include "topology/draw/layout.h"
#include "topology/topology.h"

#define DRAWING_NODE_MAX 5000
#define DRAWING_LINK_MAX 100000

MUST_CHECK enum err drawing_svg(struct text *out, const struct topology *topology,
                                enum layout_kind kind, struct why *why);
