#pragma once
/* novacube: a torus with one more cable between each node and the farthest one. Wang, Su, Xia, Qin
 * and Hamdi, "NovaCube: A Low Latency Torus-Based Network Architecture for Data Centers" (GLOBECOM
 * 2014), section IV. */

#include "topology/topology.h"

/* "novacube:6x6": the sizes of the axes; equal sizes k on n axes are the
 * paper's k-ary n-NovaCube.
 *
 * The jump cable of node x leads to the node half-way round on every axis:
 *   - on an axis of even size k, from coordinate c to c + k/2 mod k;
 *   - on an axis of odd size k, within the first k - 1 coordinates: c to
 *     c + (k-1)/2 mod (k-1). A node with coordinate k - 1 on an odd axis has
 *     no jump cable (the paper's case 2, applied axis by axis);
 *   - on an axis of size 1 nothing changes. If all are of size 1 there is no
 *     jump cable, as it would be a loop.
 * The rule is followed even where the farthest node is already a neighbour:
 * novacube:2 is two nodes and two parallel cables.
 *
 * Torus cables have the ports of torus.h; the jump port is 2n, after them. */
MUST_CHECK enum err novacube_build(struct topology *topology, const char *spec, struct why *why);

/* The other end of a node's jump cable, or NODE_NONE. */
uint32_t novacube_jump(const uint32_t *axis_size, uint32_t axis_count, uint32_t node);
