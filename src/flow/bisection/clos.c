#include "flow/bisection/clos.h"

#include <stdlib.h>

#include "base/array.h"

enum { EDGE, AGGREGATION, CORE };

static uint32_t level_of(const struct topology *topology, uint32_t node)
{
    return topology->sites[node].level;
}

static uint32_t group_of(const struct topology *topology, uint32_t node)
{
    return topology->sites[node].group;
}

/* Counts the neighbours on a level. Each must occur at most once, and all must be in this pod
 * unless the pod is GROUP_NONE; otherwise returns NODE_NONE. `mark` holds for each node the last
 * node that counted it. */
static uint32_t neighbours_count(const struct topology *topology, uint32_t node, uint32_t level,
                                 uint32_t pod, uint32_t *mark)
{
    const struct graph *graph = &topology->graph;
    uint32_t count = 0;
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        uint32_t other = graph->to[slot];
        if (level_of(topology, other) != level)
            continue;
        if (mark[other] == node || (pod != GROUP_NONE && group_of(topology, other) != pod))
            return NODE_NONE;
        mark[other] = node;
        count++;
    }
    return count;
}

/* Writes the aggregation switch that a core reaches in each pod to reach[pod]; false unless there
 * is exactly one per pod. */
static bool core_reach(const struct topology *topology, uint32_t core, uint32_t pods,
                       uint32_t *reach)
{
    const struct graph *graph = &topology->graph;
    if (graph_degree(graph, core) != pods)
        return false;
    for (uint32_t pod = 0; pod < pods; pod++)
        reach[pod] = NODE_NONE;
    for (uint32_t slot = graph->first[core]; slot < graph->first[core + 1]; slot++) {
        uint32_t other = graph->to[slot], pod = group_of(topology, other);
        if (level_of(topology, other) != AGGREGATION || pod >= pods || reach[pod] != NODE_NONE)
            return false;
        reach[pod] = other;
    }
    return true;
}

/* Do the cores above an aggregation switch all lead to the same switches, and are there at least as
 * many cores as edge switches in a pod? */
static bool cores_agree(const struct topology *topology, uint32_t node, uint32_t pods,
                        uint32_t edges, uint32_t *first_reach, uint32_t *reach)
{
    const struct graph *graph = &topology->graph;
    uint32_t cores = 0;
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        uint32_t core = graph->to[slot];
        if (level_of(topology, core) != CORE)
            continue;
        if (!core_reach(topology, core, pods, cores ? reach : first_reach))
            return false;
        for (uint32_t pod = 0; cores && pod < pods; pod++)
            if (reach[pod] != first_reach[pod])
                return false;
        cores++;
    }
    return cores >= edges;
}

/* Counts the nodes of each level and pod: count[2 * pod + level]. */
static bool nodes_count(const struct topology *topology, uint32_t pods, uint32_t *count)
{
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t level = level_of(topology, v), pod = group_of(topology, v);
        if (level > CORE || (level != CORE && pod >= pods))
            return false;
        if (level != EDGE && topology->sites[v].servers)
            return false;
        if (level != CORE)
            count[2 * pod + level]++;
    }
    return true;
}

static bool node_fits(const struct topology *topology, uint32_t node, uint32_t pods,
                      const uint32_t *count, uint32_t *work)
{
    const struct graph *graph = &topology->graph;
    uint32_t *first_reach = work, *reach = work + pods, *mark = work + 2 * pods;
    uint32_t pod = group_of(topology, node), edges, aggregations;
    switch (level_of(topology, node)) {
    case EDGE:
        aggregations = count[2 * pod + AGGREGATION];
        return neighbours_count(topology, node, AGGREGATION, pod, mark) == aggregations &&
               graph_degree(graph, node) == aggregations &&
               topology->sites[node].servers <= aggregations;
    case AGGREGATION:
        edges = count[2 * pod + EDGE];
        return neighbours_count(topology, node, EDGE, pod, mark) == edges &&
               neighbours_count(topology, node, CORE, GROUP_NONE, mark) ==
                   graph_degree(graph, node) - edges &&
               cores_agree(topology, node, pods, edges, first_reach, reach);
    default:
        return core_reach(topology, node, pods, reach);
    }
}

enum err clos_check(const struct topology *topology, bool *whole, struct why *why)
{
    *whole = false;
    uint32_t nodes = topology->graph.node_count, pods = 0;
    if (topology->kind != TOPOLOGY_FATTREE || topology->server_count == 0)
        return OK;
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t pod = group_of(topology, v);
        if (level_of(topology, v) == EDGE && pod < nodes && pod >= pods)
            pods = pod + 1;
    }
    uint32_t *count = array_new(2 * (size_t)pods, sizeof *count);
    uint32_t *work = array_new(2 * (size_t)pods + nodes, sizeof *work);
    if (!count || !work) {
        free(count);
        free(work);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < nodes; v++)
        work[2 * (size_t)pods + v] = NODE_NONE;
    *whole = nodes_count(topology, pods, count);
    /* All pods must be equal, because a colour selects a switch in each. */
    for (uint32_t pod = 1; pod < pods && *whole; pod++)
        *whole = count[2 * pod] == count[0] && count[2 * pod + 1] == count[1];
    for (uint32_t v = 0; v < nodes && *whole; v++)
        *whole = node_fits(topology, v, pods, count, work);
    free(count);
    free(work);
    return OK;
}
