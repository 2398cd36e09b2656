#pragma once
/* torus: servers on an n-dimensional grid whose axes are rings. */

#include "topology/topology.h"

/* "torus:3x3x3": the sizes of the axes. Port 2i leads up axis i, port 2i+1
 * down it. An axis of size 2 has one cable, from the up port of coordinate 0
 * to the down port of coordinate 1; an axis of size 1 has none. */
MUST_CHECK enum err torus_build(struct topology *topology, const char *spec, struct why *why);

/* A torus under construction: cables can still be added, as NovaCube does. */
struct torus {
    uint32_t axis_size[AXIS_MAX];
    uint32_t axis_count;
    uint32_t node_count;
    struct link *links; /* owned; with room for `more` links per node */
    uint32_t link_count;
};

/* Reads the sizes and writes the cables; refuses too many links before it allocates their
 * memory. */
MUST_CHECK enum err torus_begin(struct torus *torus, const char *spec, uint32_t more,
                                struct why *why);

/* Makes a topology of the torus and frees the links, also on failure. */
MUST_CHECK enum err torus_finish(struct torus *torus, enum topology_kind kind,
                                 struct topology *topology, struct why *why);

/* Writes the cables of a torus to `links`, in order of axis, then node, and returns their number.
 * `links` has room for axis_count * nodes. */
uint32_t torus_links(const uint32_t *axis_size, uint32_t axis_count, struct link *links);
