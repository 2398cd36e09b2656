#pragma once
/* two_layer: a Jellyfish whose switches stand in containers and keep a share
 * of their cables at home (Jellyfish paper, section 6.3): a random graph
 * inside every container, and one between containers over the other ports.
 *
 * Kinds of switches are dealt to the containers in turn, so that containers
 * differ by at most one switch in all and in every kind; of one kind, a
 * container's switches are consecutive. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

#define SHARE_ONE 1000000000u /* shares are counted in billionths, exactly */

struct two_layer {
    uint32_t node_count;
    uint32_t container_count;
    uint32_t *container; /* per node */
    uint32_t *first;     /* container_count + 1: members of container c are at first[c] .. */
    uint32_t *members;   /* nodes by container */
    uint32_t *local;     /* per node: ports for cables inside its container */
    uint32_t *global;    /* per node: ports for cables to other containers */
};

/* Plans which switch stands where and how many ports it uses at home: kind[v]
 * never falls with v, ports[v] are its link ports, share is at most SHARE_ONE.
 * The local ports of a container are an even number on either side of its
 * share, those of all containers together within one of theirs; every switch
 * is within one of its part of the container's. Refuses, beginning with the
 * spec, what no wiring can satisfy. */
MUST_CHECK enum err two_layer_plan(struct two_layer *plan, uint32_t node_count,
                                   const uint32_t *kind, const uint32_t *ports,
                                   uint32_t container_count, uint32_t share, const char *spec,
                                   struct why *why);
void two_layer_fini(struct two_layer *plan);

/* Plugs both layers; `stream` numbers the random streams from there on,
 * RANDOM_GRAPH_STREAMS for each container and for the layer between. */
MUST_CHECK enum err two_layer_plug(const struct two_layer *plan, struct wiring *wiring,
                                   uint64_t seed, uint64_t stream, const char *spec,
                                   struct why *why);
