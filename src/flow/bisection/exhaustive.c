/* exhaustive: tries all divisions of the nodes into two sides, in the order of a Gray code, so that
 * each division differs from the previous one by a single node. The last node never moves, because
 * a division and the one with exchanged sides cut the same cables. */
#include "flow/bisection/exhaustive.h"

#include <stdlib.h>

#include "base/check.h"

uint64_t exhaustive_find(const struct graph *graph, const struct halving *halving, uint8_t *side)
{
    uint32_t nodes = graph->node_count;
    assert(nodes >= 1 && nodes <= EXHAUSTIVE_NODE_MAX);
    int64_t cables[EXHAUSTIVE_NODE_MAX][EXHAUSTIVE_NODE_MAX] = {{0}};
    for (uint32_t e = 0; e < graph->link_count; e++) {
        cables[graph->links[e].a][graph->links[e].b]++;
        cables[graph->links[e].b][graph->links[e].a]++;
    }
    int64_t sign[EXHAUSTIVE_NODE_MAX];
    for (uint32_t v = 0; v < nodes; v++)
        sign[v] = 1;
    int64_t excess = (int64_t)halving->total, gap = (int64_t)halving_gap(halving);
    int64_t cut = 0, best = INT64_MAX;
    uint32_t best_code = 0;
    for (uint32_t step = 0, last = 1u << (nodes - 1);;) {
        if (llabs(excess) == gap && cut < best) {
            best = cut;
            best_code = step ^ step >> 1;
        }
        if (++step == last)
            break;
        uint32_t flip = (uint32_t)__builtin_ctz(step);
        int64_t change = 0;
        for (uint32_t v = 0; v < nodes; v++)
            change += cables[flip][v] * sign[v];
        cut += change * sign[flip];
        excess -= 2 * sign[flip] * halving_weight(halving, flip);
        sign[flip] = -sign[flip];
    }
    for (uint32_t v = 0; v < nodes; v++)
        side[v] = best_code >> v & 1;
    assert(halving_holds(halving, side));
    return (uint64_t)best;
}
