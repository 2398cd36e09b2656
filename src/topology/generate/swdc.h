#pragma once
/* swdc: the three small-world data centers of degree 6: a regular lattice, and
 * random cables that favour the near.
 * Shin, Wong and Sirer, "Small-World Datacenters" (SOCC 2011). */

#include "topology/topology.h"

#define SWDC_DEGREE      6
#define SWDC_NODE_MAX    1000000
#define SWDC_SERVERS_MAX 1000

/* "swdc-ring:484", "swdc-torus2d:22x22" and "swdc-hex3d:10x15x3", each with the
 * optional fields seed=N (1) and servers=K.
 *
 *   ring     2 lattice ports, 4 random; 7 nodes or more
 *   torus2d  4 lattice ports, 2 random; both sizes 3 or more
 *   hex3d    5 lattice ports, 1 random: AxBxC are C layers of a honeycomb
 *            that is B zigzag rows of A nodes, A even and 4 or more, B 2 or
 *            more, C 3 or more. Coordinate a is joined to a - 1 and a + 1 in
 *            its row, an even a also to a + 1 in the row before, and every
 *            node to the same place in the layers before and after it
 *
 * Random cables: each node in turn, in random order, picks a partner at
 * lattice distance d with probability proportional to d to the power of
 * minus the lattice's dimension (Kleinberg's exponent, as the paper has it),
 * among nodes with a free port that are not yet neighbours. Nodes that find
 * none are served by breaking random cables. All nodes end with degree 6, no
 * two have two cables, and the lattice is kept whole, so the network is
 * connected.
 *
 * Ports: those of torus.h on a ring or torus. In a hex3d port 0 leads up axis
 * a, 1 down it, 2 to the neighbouring row, 3 up axis c and 4 down it. Random
 * cables have the ports after those.
 *
 * Every node is a server; with servers=K it is a switch with K servers. */
MUST_CHECK enum err swdc_build(struct topology *topology, const char *spec, struct why *why);
