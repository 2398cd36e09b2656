#include "flow/bisection/start.h"

#include <metis.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

static_assert(sizeof(idx_t) == sizeof(int32_t), "METIS was built with 32-bit indices");

enum err start_random(const struct halving *halving, struct rng *rng, uint8_t *side,
                      struct why *why)
{
    uint32_t *order = array_new(halving->node_count, sizeof *order);
    if (!order)
        return why_memory(why);
    for (uint32_t v = 0; v < halving->node_count; v++)
        order[v] = v;
    rng_shuffle(rng, order, halving->node_count);
    int64_t excess = 0;
    for (uint32_t i = 0; i < halving->node_count; i++) {
        int64_t weight = halving_weight(halving, order[i]);
        side[order[i]] = weight ? excess > 0 : rng_next(rng) & 1;
        excess += side[order[i]] ? -weight : weight;
    }
    free(order);
    return OK;
}

enum err start_grown(const struct graph *graph, const struct halving *halving, struct rng *rng,
                     uint8_t *side, struct why *why)
{
    uint32_t nodes = graph->node_count;
    struct bfs bfs;
    if (!bfs_init(&bfs, nodes))
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        side[v] = 1;
    uint64_t weight = 0;
    assert(nodes > 0 || halving->total == 0);
    while (2 * weight < halving->total) {
        uint32_t v;
        if (!bfs_take(&bfs, &v)) { /* the start, or a component is complete */
            v = (uint32_t)rng_below(rng, nodes);
            while (bfs_seen(&bfs, v))
                v = (v + 1) % nodes;
            side[v] = 0;
            weight += halving_weight(halving, v);
            bfs_start(&bfs, v);
            continue;
        }
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t other = graph->to[slot];
            if (2 * weight >= halving->total || !bfs_visit(&bfs, v, other))
                continue;
            side[other] = 0;
            weight += halving_weight(halving, other);
        }
    }
    bfs_fini(&bfs);
    return OK;
}

struct ranked {
    double value;
    uint32_t node;
};

static int by_value(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

enum err start_by_value(const struct halving *halving, const double *value, uint8_t *side,
                        struct why *why)
{
    struct ranked *ranked_nodes = array_new(halving->node_count, sizeof *ranked_nodes);
    if (!ranked_nodes)
        return why_memory(why);
    for (uint32_t v = 0; v < halving->node_count; v++)
        ranked_nodes[v] = (struct ranked){value[v], v};
    qsort(ranked_nodes, halving->node_count, sizeof *ranked_nodes, by_value);
    uint64_t weight = 0;
    for (uint32_t i = 0; i < halving->node_count; i++) {
        side[ranked_nodes[i].node] = 2 * weight >= halving->total;
        weight += halving_weight(halving, ranked_nodes[i].node);
    }
    free(ranked_nodes);
    return OK;
}

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

/* Lists the neighbours of each node in order, with parallel cables counted together. */
static void metis_fill(struct start_metis *metis, const struct graph *graph)
{
    int32_t used = 0;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        uint32_t degree = graph_degree(graph, v);
        int32_t *mine = metis->to + used;
        for (uint32_t i = 0; i < degree; i++)
            mine[i] = (int32_t)graph->to[graph->first[v] + i];
        qsort(mine, degree, sizeof *mine, by_number);
        int32_t distinct = 0;
        for (uint32_t i = 0; i < degree; i++) {
            if (distinct && mine[distinct - 1] == mine[i]) {
                metis->cables[used + distinct - 1]++;
                continue;
            }
            metis->cables[used + distinct] = 1;
            mine[distinct++] = mine[i];
        }
        metis->first[v] = used;
        used += distinct;
    }
    metis->first[graph->node_count] = used;
}

enum err start_metis_init(struct start_metis *metis, const struct graph *graph,
                          const struct halving *halving, struct why *why)
{
    uint32_t nodes = graph->node_count;
    *metis = (struct start_metis){.node_count = (int32_t)nodes};
    metis->first = array_new((size_t)nodes + 1, sizeof *metis->first);
    metis->to = array_new(2 * (size_t)graph->link_count, sizeof *metis->to);
    metis->cables = array_new(2 * (size_t)graph->link_count, sizeof *metis->cables);
    metis->weight = array_new(nodes, sizeof *metis->weight);
    if (!metis->first || !metis->to || !metis->cables || !metis->weight) {
        start_metis_fini(metis);
        return why_memory(why);
    }
    metis_fill(metis, graph);
    uint32_t shift = 0; /* METIS sums weights in 32 bits */
    while (halving->total >> shift > INT32_MAX / 4)
        shift++;
    for (uint32_t v = 0; v < nodes; v++)
        metis->weight[v] = (int32_t)(halving_weight(halving, v) >> shift);
    return OK;
}

void start_metis_fini(struct start_metis *metis)
{
    free(metis->first);
    free(metis->to);
    free(metis->cables);
    free(metis->weight);
    *metis = (struct start_metis){0};
}

enum err start_metis_run(struct start_metis *metis, uint32_t seed, uint8_t *side, bool *found,
                         struct why *why)
{
    *found = false;
    if (metis->node_count < 8 || metis->first[metis->node_count] == 0)
        return OK;
    idx_t constraints = 1, parts = 2, cut = 0, options[METIS_NOPTIONS];
    idx_t *part = array_new((size_t)metis->node_count, sizeof *part);
    if (!part)
        return why_memory(why);
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = (idx_t)(seed & INT32_MAX);
    options[METIS_OPTION_UFACTOR] = 1;
    int status = METIS_PartGraphRecursive(&metis->node_count, &constraints, metis->first, metis->to,
                                          metis->weight, NULL, metis->cables, &parts, NULL, NULL,
                                          options, &cut, part);
    *found = status == METIS_OK;
    for (int32_t v = 0; *found && v < metis->node_count; v++)
        side[v] = (uint8_t)part[v];
    free(part);
    return status == METIS_ERROR_MEMORY ? why_memory(why) : OK;
}
