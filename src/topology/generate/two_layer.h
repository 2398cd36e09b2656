#pragma once
/* two_layer: a Jellyfish whose switches are in containers and keep a share of their cables within
 * the container (Jellyfish paper, section 6.3). There is a random graph inside every container, and
 * one between the containers over the remaining ports.
 *
 * The switches of each kind are divided among the containers so that two containers differ by at
 * most one switch, in total and of every kind. The switches of one kind in one container have
 * consecutive numbers. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

#define SHARE_ONE 1000000000u /* shares are counted in billionths, exactly */

struct two_layer {
    uint32_t node_count;
    uint32_t container_count;
    uint32_t *container; /* per node */
    uint32_t *first;     /* container_count + 1 items; container c has members[first[c]] to
                          * members[first[c + 1] - 1] */
    uint32_t *members;   /* the nodes, sorted by container */
    uint32_t *local;     /* per node: ports for cables inside its container */
    uint32_t *global;    /* per node: ports for cables to other containers */
};

/* Plans the container of each switch, and how many of its ports are local (for cables inside the
 * container). kind[v] does not decrease with v; ports[v] is the number of link ports of switch v;
 * `share` is the wanted share of local ports, at most SHARE_ONE.
 *
 * A container gets one of the two even numbers of local ports that are nearest to the share of its
 * ports, so that all of them can be used. The sum over all containers differs from the share of all
 * ports by at most one. A switch gets its part of the number of its container, rounded up or down.
 * Refuses a plan that no wiring can satisfy; the error begins with the spec. */
MUST_CHECK enum err two_layer_plan(struct two_layer *plan, uint32_t node_count,
                                   const uint32_t *kind, const uint32_t *ports,
                                   uint32_t container_count, uint32_t share, const char *spec,
                                   struct why *why);
void two_layer_fini(struct two_layer *plan);

/* Plugs the cables of both layers. `stream` is the number of the first random stream. The layer
 * between containers uses RANDOM_GRAPH_STREAMS streams, and so does each container. */
MUST_CHECK enum err two_layer_plug(const struct two_layer *plan, struct wiring *wiring,
                                   uint64_t seed, uint64_t stream, const char *spec,
                                   struct why *why);
