/* compass: the tables, and the check that every cable is where it should be.
 *
 * Each cable is entered by the ports of its two ends; then every node's ports are compared with
 * those of the kind of network. No entry is written twice (in a graph each port has one cable), so
 * equal tables mean equal cables. */
#include "routing/torus/compass.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "topology/generate/novacube.h"

uint32_t compass_distance(const struct compass *compass, uint32_t from, uint32_t to)
{
    uint32_t sum = 0;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++)
        sum += compass_ring_distance(compass, axis, from, to);
    return sum;
}

uint32_t compass_step(const struct compass *compass, uint32_t node, uint32_t axis, bool down,
                      uint32_t hops)
{
    uint32_t size = compass->size[axis], at = compass_coordinate(compass, node, axis);
    assert(hops < size);
    uint32_t up = down && hops ? size - hops : hops;
    uint32_t next = at < size - up ? at + up : at - (size - up);
    return node - at * compass->stride[axis] + next * compass->stride[axis];
}

/* The node that a port should lead to, or NODE_NONE. */
static uint32_t expected_peer(const struct compass *compass, uint32_t node, uint32_t port)
{
    uint32_t axis = port / 2;
    bool down = port % 2;
    if (axis == compass->axis_count)
        return compass->jumps ? novacube_jump(compass->size, compass->axis_count, node) : NODE_NONE;
    uint32_t at = compass_coordinate(compass, node, axis);
    if (compass->size[axis] == 1 || (compass->size[axis] == 2 && at != down))
        return NODE_NONE;
    return compass_step(compass, node, axis, down, 1);
}

static enum err misfit(const struct compass *compass, const struct topology *topology,
                       const char *user, uint32_t node, uint32_t port, struct why *why)
{
    char name[NODE_NAME_SIZE], peer_name[NODE_NAME_SIZE];
    const char *needs = compass->jumps ? "NovaCube" : "torus";
    const char *at = topology_name(topology, node, name);
    if (port >= compass->port_count || expected_peer(compass, node, port) == NODE_NONE)
        return why_fail(why, ERR_USAGE, "%s needs a %s, which has no cable at port %u of %s", user,
                        needs, port, at);
    uint32_t peer = expected_peer(compass, node, port);
    return why_fail(why, ERR_USAGE, "%s needs a %s, but here port %u of %s does not lead to %s",
                    user, needs, port, at, topology_name(topology, peer, peer_name));
}

static enum err enter_cables(struct compass *compass, const struct topology *topology,
                             const char *user, struct why *why)
{
    const struct graph *graph = &topology->graph;
    size_t count = (size_t)compass->node_count * compass->port_count;
    for (size_t i = 0; i < count; i++)
        compass->channel[i] = CHANNEL_NONE;
    for (uint32_t channel = 0; channel < graph_channel_count(graph); channel++) {
        uint32_t from = graph_channel_from(graph, channel);
        uint32_t port = graph_channel_port(graph, channel);
        if (port >= compass->port_count)
            return misfit(compass, topology, user, from, port, why);
        compass->channel[(size_t)from * compass->port_count + port] = channel;
    }
    for (uint32_t node = 0; node < compass->node_count; node++) {
        for (uint32_t port = 0; port < compass->port_count; port++) {
            uint32_t channel = compass->channel[(size_t)node * compass->port_count + port];
            uint32_t peer = channel == CHANNEL_NONE ? NODE_NONE : graph_channel_to(graph, channel);
            if (peer != expected_peer(compass, node, port))
                return misfit(compass, topology, user, node, port, why);
        }
    }
    return OK;
}

/* On an axis of size 2 both directions are the same cable. */
static void alias_short_axes(struct compass *compass)
{
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        if (compass->size[axis] != 2)
            continue;
        for (uint32_t node = 0; node < compass->node_count; node++) {
            uint32_t *up = &compass->channel[(size_t)node * compass->port_count + 2 * axis];
            if (up[0] == CHANNEL_NONE)
                up[0] = up[1];
            else
                up[1] = up[0];
        }
    }
}

static void set_coordinates(struct compass *compass, const struct topology *topology)
{
    compass->symmetric = true;
    uint32_t stride = 1;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        uint32_t size = topology->axis_size[axis];
        assert(size > 0);
        compass->size[axis] = size;
        compass->stride[axis] = stride;
        stride *= size;
        if (compass->jumps && size > 1 && size % 2)
            compass->symmetric = false; /* some of its nodes have no jump cable */
    }
    for (uint32_t node = 0; node < compass->node_count; node++)
        topology_coordinate(topology, node,
                            compass->coordinate + (size_t)node * compass->axis_count);
}

/* A network from a file may be of no known kind and still have the axes and the cables of one: the
 * jump port shows which. */
static bool has_jump_port(const struct topology *topology)
{
    for (uint32_t e = 0; e < topology->graph.link_count; e++)
        if (topology->graph.links[e].a_port == 2 * topology->axis_count)
            return true;
    return false;
}

/* No algorithm goes round an axis more than once, and none makes more than two other hops. */
static enum err check_hops(const struct topology *topology, const char *user, struct why *why)
{
    uint64_t hops = 2;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        hops += topology->axis_size[axis];
    if (hops > ROUTE_HOP_MAX)
        return why_fail(
            why, ERR_USAGE,
            "%s: on axes of this length paths may have more than %u hops; use a smaller network",
            user, ROUTE_HOP_MAX);
    return OK;
}

static enum err refuse_kind(const struct topology *topology, const char *user, struct why *why)
{
    if (topology->kind == TOPOLOGY_OTHER)
        return why_fail(why, ERR_USAGE,
                        "%s needs a torus or a NovaCube, but this network has no axes", user);
    return why_fail(why, ERR_USAGE, "%s needs a torus or a NovaCube, but this network is a %s",
                    user, topology_kind_name(topology->kind));
}

enum err compass_init(struct compass *compass, const struct topology *topology, const char *user,
                      struct why *why)
{
    enum topology_kind kind = topology->kind;
    bool square = kind == TOPOLOGY_TORUS || kind == TOPOLOGY_NOVACUBE || kind == TOPOLOGY_OTHER;
    if (!square || topology->axis_count == 0)
        return refuse_kind(topology, user, why);
    enum err err = check_hops(topology, user, why);
    if (err)
        return err;
    *compass = (struct compass){.graph = &topology->graph,
                                .node_count = topology->graph.node_count,
                                .axis_count = topology->axis_count,
                                .port_count = 2 * topology->axis_count + 1};
    compass->jumps =
        kind == TOPOLOGY_NOVACUBE || (kind == TOPOLOGY_OTHER && has_jump_port(topology));
    compass->coordinate =
        array_new((size_t)compass->node_count * compass->axis_count, sizeof *compass->coordinate);
    compass->channel =
        array_new((size_t)compass->node_count * compass->port_count, sizeof *compass->channel);
    if (!compass->coordinate || !compass->channel) {
        compass_fini(compass);
        return why_memory(why);
    }
    set_coordinates(compass, topology);
    err = enter_cables(compass, topology, user, why);
    if (err) {
        compass_fini(compass);
        return err;
    }
    alias_short_axes(compass);
    return OK;
}

void compass_fini(struct compass *compass)
{
    free(compass->coordinate);
    free(compass->channel);
    *compass = (struct compass){0};
}

enum err compass_router_open(struct router *router, uint32_t move_max, uint32_t lane_count,
                             struct why *why)
{
    struct compass *compass = array_new(1, sizeof *compass);
    if (!compass)
        return why_memory(why);
    enum err err = compass_init(compass, router->topology, router->algorithm->name, why);
    if (err) {
        free(compass);
        return err;
    }
    router->tables = compass;
    router->symmetric = compass->symmetric;
    router->move_max = move_max;
    router->lane_count = lane_count;
    return OK;
}

void compass_router_close(struct router *router)
{
    compass_fini(router->tables);
    free(router->tables);
    router->tables = NULL;
}
