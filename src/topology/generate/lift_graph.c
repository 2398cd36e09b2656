#include "topology/generate/lift_graph.h"

void lift_graph_add(const struct lift_graph *lift, struct link_list *list)
{
    for (size_t i = 0; i < lift->edge_count; i++) {
        const struct lift_edge *edge = &lift->edges[i];
        assert(edge->from < lift->base && edge->to < lift->base && edge->voltage < lift->group);
        for (uint32_t g = 0; g < lift->group; g++) {
            uint32_t to = (g + edge->voltage) % lift->group;
            if (edge->from == edge->to && 2u * edge->voltage == lift->group && to < g)
                continue;
            link_list_add(list, g * lift->base + edge->from, to * lift->base + edge->to);
        }
    }
}

void cayley_graph_add(const struct cayley_graph *cayley, struct link_list *list)
{
    uint32_t m = cayley->m, n = cayley->n;
    for (size_t i = 0; i < cayley->generator_count; i++) {
        uint32_t u = cayley->generators[i].x, v = cayley->generators[i].y;
        uint64_t power = 1 % n; /* a^u */
        for (uint32_t step = 0; step < u; step++)
            power = power * cayley->a % n;
        bool involution = 2 * u % m == 0 && (v * power + v) % n == 0;
        for (uint32_t node = 0; node < m * n; node++) {
            uint32_t to = (node / n + u) % m * n + (uint32_t)((node % n * power + v) % n);
            if (!involution || node < to)
                link_list_add(list, node, to);
        }
    }
}
