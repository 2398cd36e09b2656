#pragma once
/* jellyfish: switches, or servers, joined at random (Singla, Hong, Popa and Godfrey, "Jellyfish:
 * Networking Data Centers Randomly", NSDI 2012).
 *
 *   spec       = "jellyfish:" parameter { "," parameter }, in any order
 *   direct     : n=N degree=R                     one server per vertex
 *   switched   : servers=S switches=N ports=K     N switches of K ports
 *              | servers=S ports=NxK{+NxK} [switches=N]
 *   with the switched form:  [bare=B]             the last B switches have no servers
 *   with both forms:         [containers=C local=SHARE] [seed=NUMBER]
 *
 * SHARE is a decimal number from 0 to 1 with at most nine digits after the point. The default seed
 * is 1, the largest is 2^64 - 1.
 *
 * Servers are spread evenly over the switches that are not bare. If there are several switches,
 * each keeps at least one port for a link. A switch that is too small for an even share takes as
 * many servers as it can, and the larger switches share the rest evenly. Switches that take one
 * server more than others are spread among them. All other ports are link ports. If their number is
 * odd, the switched form leaves one port free, and the direct form refuses the spec.
 *
 * topology/generate/two_layer.h describes containers (in the direct form, its switches are the
 * vertices); site.group is the container.
 *
 * The graph has no parallel links and is connected: random_graph.h makes it and, if it is
 * disconnected, connect.h joins its parts. Numbers of ports for which no such graph exists are
 * refused. Links are listed by their lower end, then by their higher end; the ports of a node
 * increase with its neighbours' ids. The same spec gives the same graph on every machine. */

#include "topology/topology.h"

MUST_CHECK enum err jellyfish_build(struct topology *topology, const char *spec, struct why *why);
