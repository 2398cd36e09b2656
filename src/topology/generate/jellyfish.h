#pragma once
/* jellyfish: switches, or servers, joined at random (Singla, Hong, Popa and
 * Godfrey, "Jellyfish: Networking Data Centers Randomly", NSDI 2012).
 *
 *   spec       = "jellyfish:" parameter { "," parameter }, in any order
 *   direct     : n=N degree=R                     one server per vertex
 *   switched   : servers=S switches=N ports=K     N switches of K ports
 *              | servers=S ports=NxK{+NxK} [switches=N]
 *   with the switched form:  [bare=B]             the last B switches carry no servers
 *   with both forms:         [containers=C local=SHARE] [seed=NUMBER]
 *
 * SHARE is a decimal number from 0 to 1 of at most nine digits after the
 * point; seed is 1 unless given and goes up to 2^64 - 1.
 *
 * Servers are spread evenly over the switches that are not bare: with several
 * switches each keeps at least one port for a link, a switch too small for
 * its even part takes all it can (as water fills vessels of different
 * height), and those that take one more than others are spread among them. All
 * other ports are link ports. If their number is odd one stays free, in the
 * switched form; the direct form refuses that.
 *
 * Containers: topology/generate/two_layer.h; site.group is the container. "Switch"
 * means vertex there if the form is direct.
 *
 * The graph has no parallel links and is connected: random_graph.h makes it,
 * and where it falls into parts, connect.h joins them. Numbers of ports that
 * no such graph has are refused. Links are listed by their lower, then their
 * higher end; ports of a node count up with its neighbours. The same words
 * give the same graph on every machine. */

#include "topology/topology.h"

MUST_CHECK enum err jellyfish_build(struct topology *topology, const char *spec, struct why *why);
