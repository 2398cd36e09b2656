#include "node/links/routes.h"

#include <string.h>

#include "base/bitset.h"
#include "base/check.h"

bool routes_init(struct routes *routes, const struct plan *plan, node_id self, struct arena *arena)
{
    assert(plan->server_count <= SERVER_MAX && self < plan->server_count);
    uint32_t count = plan->server_count;
    *routes = (struct routes){.plan = plan, .self = self};
    routes->near_hops = arena_take_array(arena, count, sizeof *routes->near_hops);
    routes->up_hops = arena_take_array(arena, count, sizeof *routes->up_hops);
    routes->ports = arena_take_array(arena, count, sizeof *routes->ports);
    routes->order = arena_take_array(arena, (size_t)count + 1, sizeof *routes->order);
    routes->near_set =
        arena_take_array(arena, bitset_words(plan->server_count), sizeof *routes->near_set);
    routes->up_set =
        arena_take_array(arena, bitset_words(plan->server_count), sizeof *routes->up_set);
    return routes->near_hops && routes->up_hops && routes->ports && routes->order &&
           routes->near_set && routes->up_set;
}

/* A breadth-first search of its own instead of base/bfs.h: it runs at every change of a link, and
 * this is faster. A server's ports are complete when its turn comes, because all nearer servers
 * come before it. Unreachable servers keep the ports that they have.
 *
 * The processor cannot predict whether a neighbour is new, equally far or nearer, so the code does
 * not branch on it. A neighbour that is not new is written after the end of the queue, where the
 * next neighbour overwrites it; the queue has one place more than there are servers. */
static uint32_t search(struct routes *routes, const port_set *links, uint16_t *hops, uint64_t *set)
{
    const struct plan *plan = routes->plan;
    uint16_t *order = routes->order;
    port_set *all_ports = routes->ports;
    memset(hops, 0xff, plan->server_count * sizeof *hops);
    memset(set, 0, bitset_words(plan->server_count) * sizeof *set);
    uint32_t count = 0;
    order[count++] = (uint16_t)routes->self;
    hops[routes->self] = 0;
    for (uint32_t i = 0; i < count; i++) {
        node_id at = order[i];
        const uint16_t *neighbours = plan->neighbours + (size_t)at * plan->port_count;
        uint16_t next = (uint16_t)(hops[at] + 1);
        port_set at_ports = all_ports[at];
        bitset_add(set, at);
        for (port_set left = links[at]; left; left &= left - 1) {
            node_id to = neighbours[__builtin_ctz(left)];
            uint16_t before = hops[to];
            bool fresh = before == HOPS_NEVER;
            port_set ports = i == 0 ? left & -left : at_ports;
            order[count] = (uint16_t)to;
            count += fresh;
            hops[to] = fresh ? next : before;
            all_ports[to] =
                (all_ports[to] & ((port_set)fresh - 1)) | (ports & -(port_set)(before >= next));
        }
    }
    return count;
}

/* A server that is unreachable over links that are up is reached by the shortest path over near
 * links, even if that path crosses servers that have routes over links that are up: each step must
 * come nearer by one measure on which all servers agree, or packets could go in circles. So the
 * second search overwrites only the servers that it reaches. */
void routes_find(struct routes *routes, const port_set *near, const port_set *up, bool equal)
{
    memset(routes->ports, 0, routes->plan->server_count * sizeof *routes->ports);
    if (!equal)
        routes->near_count = search(routes, near, routes->near_hops, routes->near_set);
    routes->up_count = search(routes, up, routes->up_hops, routes->up_set);
    if (!equal)
        return;
    memcpy(routes->near_hops, routes->up_hops,
           routes->plan->server_count * sizeof *routes->near_hops);
    memcpy(routes->near_set, routes->up_set,
           bitset_words(routes->plan->server_count) * sizeof *routes->near_set);
    routes->near_count = routes->up_count;
}
