#pragma once
/* clos: fat-trees, which route any pairing of their servers at full rate. */

#include <stdbool.h>

#include "base/err.h"
#include "topology/topology.h"

/* Is this a complete three-level fat-tree? The cables are checked one by one: a fat-tree that has
 * lost some is not complete.
 *
 * In each pod every edge switch has one cable to every aggregation switch, and at most as many
 * servers as there are aggregation switches. Every core has one cable to each pod, and the cores of
 * one aggregation switch all lead to the same aggregation switches; an aggregation switch has at
 * least as many cores as its pod has edge switches.
 *
 * Then any set of flows, with at most one from and one to each server, can be routed with one flow
 * per channel. Regard flows as edges between the edge switches that they leave and those that they
 * reach. A bipartite multigraph of degree d has an edge colouring with d colours (Konig), and the
 * colour of a flow selects the aggregation switch of its pod through which it goes up. Of the flows
 * of one colour, at most one leaves and at most one reaches each edge switch. So the flows of one
 * colour between pods can be coloured again with as many colours as a pod has edge switches, and
 * the second colour of a flow selects the core. Hence if every server of the lighter half sends to
 * a different server of the other half, every flow crosses the cut on a channel of its own, and the
 * cut has at least as many cables as the lighter half has servers. */
MUST_CHECK enum err clos_check(const struct topology *topology, bool *whole, struct why *why);
