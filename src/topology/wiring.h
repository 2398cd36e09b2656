#pragma once
/* wiring: cables that can be plugged and unplugged, before they become a graph.
 *
 * Every node has a fixed number of link ports. A cable is identified by its index in `cables`,
 * which can change when another cable is unplugged: the last cable moves into its place.
 * Generators, growth and rewiring plans use this. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

#define CABLE_NONE UINT32_MAX

struct wiring {
    uint32_t node_count;
    uint32_t cable_count;
    struct link *cables; /* dense; room for all ports to be used */
    uint64_t *first;     /* node_count + 1: ports of node v are at first[v] .. first[v+1] - 1 */
    uint32_t *cable_at;  /* per port: index of its cable, or CABLE_NONE */
    uint32_t *peer_at;   /* per port: the node at the other end, or NODE_NONE */
    uint32_t *free;      /* per node: how many of its ports are free */
    uint32_t *lowest;    /* per node: no port below this one is free */
};

/* Makes a wiring with `ports[v]` link ports at node v and no cables. */
MUST_CHECK enum err wiring_init(struct wiring *wiring, uint32_t node_count, const uint32_t *ports,
                                struct why *why);
void wiring_fini(struct wiring *wiring);

static inline uint32_t wiring_ports(const struct wiring *wiring, uint32_t node)
{
    return (uint32_t)(wiring->first[node + 1] - wiring->first[node]);
}

static inline uint32_t wiring_other_end(const struct link *cable, uint32_t node)
{
    return cable->a == node ? cable->b : cable->a;
}

/* Joins two different nodes, each at the given port, or at its lowest free port for PORT_ANY. The
 * ports must exist and be free. Returns the index of the cable. */
uint32_t wiring_plug(struct wiring *wiring, uint32_t a, uint32_t a_port, uint32_t b,
                     uint32_t b_port);

/* Removes a cable; the last cable takes its index. */
void wiring_unplug(struct wiring *wiring, uint32_t cable);

/* Moves the end of a cable at `from` to a free port of `to`. The cable keeps its index; `to` must
 * not be its other end. */
void wiring_move(struct wiring *wiring, uint32_t cable, uint32_t from, uint32_t to);

/* Crosses two cables: with one = (a, b) and other = (c, d), `one` becomes (a, c) and `other` (b,
 * d). Every end stays in its port, and both cables keep their indexes. The result must not be a
 * loop. */
void wiring_cross(struct wiring *wiring, uint32_t one, uint32_t other);

/* Exchanges the ends a and b of a cable. */
void wiring_turn(struct wiring *wiring, uint32_t cable);

/* Is there a cable between the two nodes? Faster than wiring_find. */
bool wiring_joined(const struct wiring *wiring, uint32_t a, uint32_t b);

/* A cable between the two nodes, or CABLE_NONE. */
uint32_t wiring_find(const struct wiring *wiring, uint32_t a, uint32_t b);

/* Is there a path from a to b that avoids this cable (CABLE_NONE: any path)? Searches from both
 * ends at once, so that it visits few nodes in a well-connected network. */
MUST_CHECK enum err wiring_reaches(const struct wiring *wiring, uint32_t a, uint32_t b,
                                   uint32_t avoid, bool *reaches, struct why *why);
