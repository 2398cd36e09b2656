#include "flow/bisection/reach.h"

#include "base/wide.h"

static uint32_t degree_highest(const struct graph *graph)
{
    uint32_t highest = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        if (graph_degree(graph, v) > highest)
            highest = graph_degree(graph, v);
    return highest;
}

uint64_t reach_lower(const struct topology *topology, const struct halving *halving,
                     const struct distance_tally *tally)
{
    uint32_t degree = degree_highest(&topology->graph);
    if (degree == 0 || halving->light == 0)
        return 0;
    bool servers = topology->server_count > 0; /* else nodes are halved */
    const uint64_t *pairs = servers ? tally->servers : tally->nodes;
    uint64_t light = halving->light * halving->unit;
    uint64_t heavy = (halving->total - halving->light) * halving->unit;
    uint64_t most = (uint64_t)halving->classes[0].weight * halving->unit; /* the heaviest */
    uint128 separated = 2 * (uint128)light * heavy; /* ordered pairs, as in the tally */
    uint128 far = servers ? tally->servers_apart : tally->nodes_apart;
    for (uint32_t d = 1; d < tally->length; d++)
        far += pairs[d];

    uint64_t best = 0;
    uint128 ways = 1, carried = 0; /* (r-1)^(d-1), and C over w^2 */
    for (uint32_t d = 1; d < tally->length; d++) {
        carried += d * ways;
        if (carried > separated / most / most)
            break; /* C only grows, and would overflow in the end */
        ways *= degree - 1;
        far -= pairs[d];
        uint128 load = 2 * carried * most * most;
        if (separated > far && (separated - far + load - 1) / load > best)
            best = (uint64_t)((separated - far + load - 1) / load);
    }
    return best;
}
