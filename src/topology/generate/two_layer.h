#pragma once
/* two_layer: a Jellyfish whose switches are in containers and keep a share of their cables within
 * the container (Jellyfish paper, section 6.3): a random graph inside every container, and one
 * between containers over the remaining ports.
 *
 * Kinds of switches are dealt to the containers in turn, so that containers differ by at most one
 * switch in total and in every kind; of one kind, a container's switches are consecutive. */

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

/* Plans the container of each switch and how many of its ports it uses inside: kind[v] does not
 * decrease with v, ports[v] are the link ports of v, and share is at most SHARE_ONE. The number of
 * local ports of a container is even and next to its share, above or below. The sum over all
 * containers is within one of their total share; every switch is within one of its part of the
 * container's number. Refuses a plan that no wiring can satisfy; the error begins with the spec. */
MUST_CHECK enum err two_layer_plan(struct two_layer *plan, uint32_t node_count,
                                   const uint32_t *kind, const uint32_t *ports,
                                   uint32_t container_count, uint32_t share, const char *spec,
                                   struct why *why);
void two_layer_fini(struct two_layer *plan);

/* Plugs both layers. `stream` is the number of the first random stream; RANDOM_GRAPH_STREAMS are
 * used for each container and for the layer between containers. */
MUST_CHECK enum err two_layer_plug(const struct two_layer *plan, struct wiring *wiring,
                                   uint64_t seed, uint64_t stream, const char *spec,
                                   struct why *why);
