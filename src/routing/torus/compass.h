#pragma once
/* compass: directions on a torus or a NovaCube.
 *
 * It knows the coordinates of nodes, their distance round a ring, and which channel leaves a node
 * up or down an axis or by its jump cable. It checks cable by cable that the topology is of the
 * kind that it claims to be. On an axis of size 2 up and down are the same cable; an axis of size 1
 * has no cable. */

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"
#include "routing/route.h"
#include "topology/topology.h"

#define CHANNEL_NONE UINT32_MAX

struct compass {
    const struct graph *graph; /* borrowed */
    uint32_t node_count;
    uint32_t axis_count;
    uint32_t size[AXIS_MAX];
    uint32_t stride[AXIS_MAX]; /* node = sum of coordinate times stride */
    uint32_t port_count;       /* 2 * axis_count + 1, the last one for jumps */
    bool jumps;                /* some node has a jump cable */
    bool symmetric;            /* the network looks the same from every node */
    uint32_t *coordinate;      /* owned; [node * axis_count + axis] */
    uint32_t *channel;         /* owned; [node * port_count + port], or CHANNEL_NONE */
};

/* Refuses a network that is neither a torus nor a NovaCube; `user`, the name of the algorithm,
 * begins the error. */
MUST_CHECK enum err compass_init(struct compass *compass, const struct topology *topology,
                                 const char *user, struct why *why);
void compass_fini(struct compass *compass);

/* Opens and closes a router whose only table is a compass; `move_max` and `lane_count` are the
 * values of the algorithm. */
MUST_CHECK enum err compass_router_open(struct router *router, uint32_t move_max,
                                        uint32_t lane_count, struct why *why);
void compass_router_close(struct router *router);

static inline const struct compass *compass_of(const struct router *router)
{
    assert(router->tables);
    return router->tables;
}

static inline uint32_t compass_coordinate(const struct compass *compass, uint32_t node,
                                          uint32_t axis)
{
    return compass->coordinate[(size_t)node * compass->axis_count + axis];
}

static inline uint32_t compass_channel(const struct compass *compass, uint32_t node, uint32_t axis,
                                       bool down)
{
    return compass->channel[(size_t)node * compass->port_count + 2 * axis + down];
}

/* CHANNEL_NONE if the node has no jump cable. */
static inline uint32_t compass_jump_channel(const struct compass *compass, uint32_t node)
{
    return compass->channel[(size_t)node * compass->port_count + 2 * compass->axis_count];
}

static inline uint32_t compass_peer(const struct compass *compass, uint32_t channel)
{
    return graph_channel_to(compass->graph, channel);
}

/* Hops along an axis from one node's coordinate to another's in the given direction. */
static inline uint32_t compass_ahead(const struct compass *compass, uint32_t axis, uint32_t from,
                                     uint32_t to, bool down)
{
    uint32_t a = compass_coordinate(compass, from, axis), b = compass_coordinate(compass, to, axis);
    if (down) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    return b >= a ? b - a : compass->size[axis] - a + b;
}

enum compass_way {
    COMPASS_HERE, /* same coordinate */
    COMPASS_UP,
    COMPASS_DOWN,
    COMPASS_TIE, /* half-way round, with two cables to choose from */
};

/* The shorter direction along an axis. */
static inline enum compass_way compass_short_way(const struct compass *compass, uint32_t axis,
                                                 uint32_t from, uint32_t to)
{
    uint32_t size = compass->size[axis], up = compass_ahead(compass, axis, from, to, false);
    if (up == 0)
        return COMPASS_HERE;
    if (size == 2 || up < size - up)
        return COMPASS_UP;
    return up == size - up ? COMPASS_TIE : COMPASS_DOWN;
}

/* Hops along an axis in the shorter direction. */
static inline uint32_t compass_ring_distance(const struct compass *compass, uint32_t axis,
                                             uint32_t from, uint32_t to)
{
    uint32_t up = compass_ahead(compass, axis, from, to, false), size = compass->size[axis];
    return up <= size - up ? up : size - up;
}

/* Hops between two nodes over torus cables only. */
uint32_t compass_distance(const struct compass *compass, uint32_t from, uint32_t to);

/* The node after `hops` hops along an axis; hops is less than the axis' size. */
uint32_t compass_step(const struct compass *compass, uint32_t node, uint32_t axis, bool down,
                      uint32_t hops);

/* The side of the ring's dateline: 0 while a packet that goes this way to the coordinate of
 * `target` still has to pass from the last coordinate to the first (going down: from the first to
 * the last), 1 if it has passed or need not pass.
 *
 * With the lane chosen like this, no ring can deadlock (Dally and Seitz, 1987): lane 1 never
 * crosses the end of the ring, and lane 0 does not continue behind it. The rule needs no memory of
 * the packet's earlier hops. Hops must be less than the axis' size. */
static inline uint32_t compass_lane(const struct compass *compass, uint32_t axis, uint32_t at,
                                    uint32_t target, bool down)
{
    uint32_t a = compass_coordinate(compass, at, axis);
    uint32_t b = compass_coordinate(compass, target, axis);
    return down ? b < a : b > a;
}
