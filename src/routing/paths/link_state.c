/* link_state: at each hop, any port on which a shortest path begins, all equally likely. Nodes that
 * know all links and keep no state about packets route like this.
 *
 * The state is empty: node and destination determine everything. There is one lane, because
 * Ethernet has no others. Shortest paths on one lane can wait for each other in a circle; `weft
 * route deadlock` shows whether they do. */
#include <stdlib.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/check.h"
#include "routing/algorithms.h"
#include "routing/paths/first_ports.h"
#include "routing/route_start.h"
#include "topology/measure/distance.h"

/* Limit for the bytes of all nodes' tables together. */
#define TABLE_MAX ((uint64_t)1 << 30)

static void link_state_close(struct router *router)
{
    struct first_ports *ports = router->tables;
    for (uint32_t v = 0; v < router->topology->graph.node_count; v++)
        first_ports_fini(&ports[v]);
    free(ports);
}

static enum err check_size(const struct graph *graph, struct why *why)
{
    uint64_t words = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        words += first_ports_words(graph, v);
    if (words > TABLE_MAX / sizeof(uint64_t) / (graph->node_count + UINT64_C(1)))
        return why_fail(
            why, ERR_USAGE,
            "link-state: tables of %u nodes take more than 1 GiB; try a smaller network",
            graph->node_count);
    return OK;
}

static enum err check_reach(const struct topology *topology, const struct first_ports *ports,
                            struct why *why)
{
    for (uint32_t v = 1; v < topology->graph.node_count; v++) {
        const uint64_t *set = first_ports_set(&ports[0], v);
        uint64_t any = 0;
        for (uint32_t word = 0; word < ports[0].word_count; word++)
            any |= set[word];
        char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
        if (!any)
            return why_fail(why, ERR_NO, "link-state: there is no path from %.100s to %.100s",
                            topology_name(topology, 0, from), topology_name(topology, v, to));
    }
    return OK;
}

static enum err link_state_open(struct router *router, struct why *why)
{
    const struct graph *graph = &router->topology->graph;
    enum err err = check_size(graph, why);
    if (err)
        return err;
    struct first_ports *ports = array_new(graph->node_count, sizeof *ports);
    if (!ports)
        return why_memory(why);
    router->tables = ports;
    router->move_max = 1;
    router->lane_count = 1;
    router->symmetric = router->topology->axis_count && distance_sources(router->topology) == 1;
    for (uint32_t v = 0; v < graph->node_count && !err; v++) {
        uint32_t degree = graph_degree(graph, v);
        router->move_max = degree > router->move_max ? degree : router->move_max;
        err = first_ports_find(&ports[v], graph, v, why);
        if (!err && v == 0)
            err = check_reach(router->topology, ports, why);
    }
    if (err)
        link_state_close(router);
    return err;
}

static uint32_t link_state_moves(const struct router *router, uint32_t at, uint32_t to,
                                 const struct route_state *state, struct route_move *moves)
{
    const struct graph *graph = &router->topology->graph;
    const struct first_ports *ports = (const struct first_ports *)router->tables + at;
    const uint64_t *set = first_ports_set(ports, to);
    uint32_t count = 0;
    for (uint32_t word = 0; word < ports->word_count; word++)
        for (uint64_t rest = set[word]; rest;) {
            size_t index = bitset_take_lowest(&rest, word);
            moves[count++] =
                (struct route_move){.channel = graph->channel[graph->first[at] + index]};
        }
    for (uint32_t i = 0; i < count; i++)
        moves[i].share = 1.0 / count;
    return count;
}

const struct route_algorithm route_link_state = {
    .name = "link-state",
    .summary = "at each node any port on which a shortest path begins, all equally likely",
    .oblivious = true,
    .open = link_state_open,
    .close = link_state_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = link_state_moves,
};
