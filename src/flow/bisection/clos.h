#pragma once
/* clos: fat-trees, which route any pairing of their servers at full rate. */

#include <stdbool.h>

#include "base/err.h"
#include "topology/topology.h"

/* Is this a whole three-level fat-tree? The cables are checked one by one:
 * a fat-tree that has lost some is none.
 *
 * In each pod every edge switch has one cable to every aggregation switch, and
 * not more servers than aggregation switches. Every core has one cable to each
 * pod, and the cores of one aggregation switch all lead to the same
 * aggregation switches; an aggregation switch has at least as many cores as
 * its pod has edge switches.
 *
 * Then any set of flows, one from and one to each server at most, can be
 * routed with one flow per channel. Flows are edges between the edge switches
 * they leave and those they reach; a bipartite multigraph of degree d has an
 * edge colouring in d colours (Konig), and the colours say through which
 * aggregation switch of its pod each flow climbs. Flows of one colour are at
 * most one from, and one to, each edge switch: between pods they colour in as
 * many colours as a pod has edge switches, and these say which core. Hence if
 * every server of the lighter half sends to a server of its own in the other,
 * every flow crosses the cut on a channel of its own, and the cut has at least
 * as many cables as the lighter half has servers. */
MUST_CHECK enum err clos_check(const struct topology *topology, bool *whole, struct why *why);
