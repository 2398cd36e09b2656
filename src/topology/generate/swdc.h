#pragma once
/* swdc: the three small-world data centers of degree 6: a regular lattice, and random cables that
 * prefer near nodes. Shin, Wong and Sirer, "Small-World Datacenters" (SOCC 2011). */

#include "topology/topology.h"

#define SWDC_DEGREE      6
#define SWDC_NODE_MAX    1000000
#define SWDC_SERVERS_MAX 1000

/* "swdc-ring:484", "swdc-torus2d:22x22" and "swdc-hex3d:10x15x3", each with the optional fields
 * seed=N (default 1) and servers=K.
 *
 *   ring     2 lattice ports, 4 random; 7 nodes or more
 *   torus2d  4 lattice ports, 2 random; both sizes 3 or more
 *   hex3d    5 lattice ports, 1 random: AxBxC means C layers; each is a honeycomb of B zigzag
 *            rows of A nodes, A even and 4 or more, B 2 or more, C 3 or more. Coordinate a is
 *            joined to a - 1 and a + 1 in its row, an even a also to a + 1 in the previous row,
 *            and every node to the node at the same place in the previous and the next layer
 *
 * Random cables: each node in turn, in random order, picks a partner at lattice distance d with
 * probability proportional to d to the power of minus the lattice's dimension (Kleinberg's
 * exponent, as in the paper), among nodes with a free port that are not yet neighbours. If a node
 * finds no partner, random cables are broken for it. At the end all nodes have degree 6, no two
 * nodes have two cables, and the lattice is complete, so the network is connected.
 *
 * Ports: those of torus.h on a ring or torus. In a hex3d port 0 leads up axis a, 1 down axis a, 2
 * to the neighbouring row, 3 up axis c and 4 down axis c. Random cables have the next ports.
 *
 * Every node is a server; with servers=K it is a switch with K servers. */
MUST_CHECK enum err swdc_build(struct topology *topology, const char *spec, struct why *why);
