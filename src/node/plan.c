#include "node/plan.h"

#include <stdlib.h>

#include "base/bfs.h"

static enum err ends_make(struct plan *plan, struct why *why)
{
    const struct graph *graph = &plan->topology->graph;
    plan->ends = calloc((size_t)plan->server_count * plan->port_count + 1, sizeof *plan->ends);
    plan->ports = calloc((size_t)plan->server_count + 1, sizeof *plan->ports);
    plan->neighbours =
        calloc((size_t)plan->server_count * plan->port_count + 1, sizeof *plan->neighbours);
    if (!plan->ends || !plan->ports || !plan->neighbours)
        return why_memory(why);
    for (size_t i = 0; i < (size_t)plan->server_count * plan->port_count; i++)
        plan->ends[i].server = NODE_NONE;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        plan->ends[(size_t)link->a * plan->port_count + link->a_port] =
            (struct plan_end){link->b, link->b_port, i};
        plan->ends[(size_t)link->b * plan->port_count + link->b_port] =
            (struct plan_end){link->a, link->a_port, i};
        plan->neighbours[(size_t)link->a * plan->port_count + link->a_port] = (uint16_t)link->b;
        plan->neighbours[(size_t)link->b * plan->port_count + link->b_port] = (uint16_t)link->a;
        plan->ports[link->a] |= (port_set)1 << link->a_port;
        plan->ports[link->b] |= (port_set)1 << link->b_port;
    }
    return OK;
}

/* The largest distance of a server from server 0; any two servers are at most twice that apart. */
static enum err reach_find(const struct plan *plan, uint32_t *reach, struct why *why)
{
    struct bfs bfs;
    bool good = bfs_init(&bfs, plan->server_count);
    if (good) {
        bfs_start(&bfs, 0);
        graph_search(&plan->topology->graph, &bfs);
        *reach = bfs.level[bfs.order[bfs.count - 1]];
    }
    bfs_fini(&bfs);
    return good ? OK : why_memory(why);
}

static enum err hops_limit(struct plan *plan, struct why *why)
{
    uint32_t reach;
    enum err err = reach_find(plan, &reach, why);
    if (err)
        return err;
    if (reach > UINT8_MAX / 2)
        return why_fail(why, ERR_USAGE,
                        "the topology is too wide: a server is %u hops from server 0, so two "
                        "servers may be more than %d hops apart",
                        reach, UINT8_MAX);
    uint32_t limit = 4 * reach + 16;
    plan->hop_limit = (uint8_t)(limit < UINT8_MAX ? limit : UINT8_MAX);
    return OK;
}

/* Raises the port count so that it includes this port. */
static enum err port_count_in(struct plan *plan, node_id server, uint32_t port, struct why *why)
{
    if (port >= PORT_MAX)
        return why_fail(why, ERR_USAGE,
                        "server %u has a cable in port %u, but a server has at most %d ports",
                        server, port, PORT_MAX);
    if (port >= plan->port_count)
        plan->port_count = port + 1;
    return OK;
}

enum err plan_init(struct plan *plan, const struct topology *topology, struct why *why)
{
    if (!topology->direct)
        return why_fail(
            why, ERR_USAGE,
            "%s has switches, which a cluster cannot use; choose a torus, a novacube or "
            "jellyfish:n=N,degree=D",
            topology->spec[0] ? topology->spec : "this topology");
    if (topology->graph.node_count > SERVER_MAX)
        return why_fail(why, ERR_USAGE, "%u servers are too many: a cluster has at most %d",
                        topology->graph.node_count, SERVER_MAX);
    *plan = (struct plan){
        .topology = topology,
        .server_count = topology->graph.node_count,
        .port_count = 1, /* a lone server also has a port, with no cable in it */
    };
    for (uint32_t i = 0; i < topology->graph.link_count; i++) {
        const struct link *link = &topology->graph.links[i];
        enum err err = port_count_in(plan, link->a, link->a_port, why);
        if (!err)
            err = port_count_in(plan, link->b, link->b_port, why);
        if (err)
            return err;
    }
    enum err err = ends_make(plan, why);
    if (!err)
        err = hops_limit(plan, why);
    if (!err)
        err = keyspace_init(&plan->keyspace, topology, why);
    if (err) {
        free(plan->ends);
        free(plan->neighbours);
        free(plan->ports);
    }
    return err;
}

void plan_fini(struct plan *plan)
{
    keyspace_fini(&plan->keyspace);
    free(plan->ends);
    free(plan->neighbours);
    free(plan->ports);
    *plan = (struct plan){0};
}

unsigned plan_port(const struct plan *plan, node_id server, node_id other)
{
    for (unsigned port = 0; port < plan->port_count; port++)
        if (plan_end(plan, server, port)->server == other)
            return port;
    return PORT_NONE;
}
