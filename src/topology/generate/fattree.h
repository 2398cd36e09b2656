#pragma once
/* fattree: the three-level folded Clos of k-port switches.
 * Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
 * Architecture" (SIGCOMM 2008). */

#include "topology/topology.h"

#define FATTREE_PORTS_MAX 512

/* "fattree:k=14": k ports per switch, even. k pods, each of k/2 edge and k/2
 * aggregation switches; (k/2)^2 core switches; k/2 servers on every edge
 * switch, k^3/4 in all.
 *
 * Nodes: the edge switches pod by pod, then the aggregation switches pod by
 * pod, then the core. Sites: level 0 edge, 1 aggregation, 2 core; group is the
 * pod, GROUP_NONE for the core. Ports: an edge switch has its aggregation
 * switches on 0 .. k/2 - 1 and its servers above; an aggregation switch its
 * edge switches on 0 .. k/2 - 1 and its core switches above; a core switch has
 * pod p on port p. Aggregation switch j of a pod leads to the core switches
 * j k/2 .. (j+1) k/2 - 1. */
MUST_CHECK enum err fattree_build(struct topology *topology, const char *spec, struct why *why);
