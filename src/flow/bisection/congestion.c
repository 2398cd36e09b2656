/* congestion: routes all pairs, source by source, and evens out the loads.
 *
 * The loads of a source are computed backwards, farthest node first. The amount that a node and the
 * nodes behind it receive is divided among its neighbours on shortest paths from the source, in
 * proportion to their numbers of paths (Brandes). In a Cayley graph one source represents all: by
 * symmetry a class of cables shares its load evenly.
 *
 * Evening out: with lengths that grow with the load of a cable, shortest paths avoid the crowded
 * cables. A mixture of two routings is a routing, so the loads are mixed in the share that lowers
 * the highest load (Frank and Wolfe's method with a line search); the bound never decreases. No
 * routing has a highest load below the mean of a shortest routing's loads, weighted by the lengths,
 * so the rounds end if that is reached. */
#include "flow/bisection/congestion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/heap.h"

#define VISITS_MAX    1.2e9 /* cable ends visited, in all sources and rounds together */
#define ROUNDS_MAX    120u
#define HEAVIER_COUNT 1e100 /* larger path counts are scaled down */

struct routing {
    const struct graph *graph;
    const struct halving *halving;
    const double *length; /* per link; NULL: all 1 */
    double *load;         /* per link: units between ordered pairs */
    double *distance;     /* per node */
    double *paths;        /* per node: shortest paths, up to a factor common to equal distances */
    double *amount;       /* per node: what arrives here and behind it */
    uint32_t *order;      /* nodes, nearest first ... */
    uint32_t *rank;       /* ... and the position of each node there */
    struct bfs bfs;
    struct heap heap; /* nodes to process, nearest first */
};

static void routing_fini(struct routing *routing)
{
    free(routing->load);
    free(routing->distance);
    free(routing->paths);
    free(routing->amount);
    free(routing->order);
    free(routing->rank);
    bfs_fini(&routing->bfs);
    heap_fini(&routing->heap);
}

static enum err routing_init(struct routing *routing, const struct graph *graph,
                             const struct halving *halving, struct why *why)
{
    size_t nodes = graph->node_count;
    *routing = (struct routing){
        .graph = graph,
        .halving = halving,
        .load = array_new(graph->link_count, sizeof(double)),
        .distance = array_new(nodes, sizeof(double)),
        .paths = array_new(nodes, sizeof(double)),
        .amount = array_new(nodes, sizeof(double)),
        .order = array_new(nodes, sizeof(uint32_t)),
        .rank = array_new(nodes, sizeof(uint32_t)),
    };
    bool searches = bfs_init(&routing->bfs, graph->node_count) &&
                    heap_init(&routing->heap, routing->distance, graph->node_count);
    if (searches && routing->load && routing->distance && routing->paths && routing->amount &&
        routing->order && routing->rank)
        return OK;
    routing_fini(routing);
    return why_memory(why);
}

/* With all lengths 1: distances and order by breadth-first search. Returns the number of nodes
 * reached. */
static uint32_t search_breadth(struct routing *routing, uint32_t source)
{
    struct bfs *bfs = &routing->bfs;
    bfs_clear(bfs);
    bfs_start(bfs, source);
    graph_search(routing->graph, bfs);
    for (uint32_t i = 0; i < bfs->count; i++) {
        uint32_t v = bfs->order[i];
        routing->order[i] = v;
        routing->rank[v] = i;
        routing->distance[v] = bfs->level[v];
    }
    return bfs->count;
}

/* The same with lengths (Dijkstra). */
static uint32_t search_lengths(struct routing *routing, uint32_t source)
{
    const struct graph *graph = routing->graph;
    struct heap *heap = &routing->heap;
    uint32_t done = 0;
    routing->distance[source] = 0;
    heap_add(heap, source);
    while (heap->count) {
        uint32_t v = heap_take(heap);
        routing->rank[v] = done;
        routing->order[done++] = v;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t other = graph->to[slot];
            double distance = routing->distance[v] + routing->length[graph->channel[slot] / 2];
            if (distance >= routing->distance[other])
                continue;
            if (routing->distance[other] == INFINITY)
                heap_add(heap, other);
            routing->distance[other] = distance;
            heap_lowered(heap, other);
        }
    }
    return done;
}

/* Does a shortest path to v come over this slot of v? A small tolerance keeps ties equal in spite
 * of rounding. A wrong answer would still give valid paths, because they always lead to nodes
 * earlier in the order. */
static bool slot_leads_back(const struct routing *routing, uint32_t v, uint32_t slot)
{
    uint32_t other = routing->graph->to[slot];
    if (routing->rank[other] >= routing->rank[v])
        return false;
    double length = routing->length ? routing->length[routing->graph->channel[slot] / 2] : 1;
    return routing->distance[other] + length <= routing->distance[v] * (1 + 1e-9);
}

/* Computes numbers of shortest paths. Only their ratios among the neighbours of one node matter.
 * They are kept from overflowing: with all lengths 1 by scaling whole distances, else by a cap,
 * which only makes the split less even. */
static void paths_count(struct routing *routing, uint32_t reached)
{
    const struct graph *graph = routing->graph;
    double scale = 1;
    routing->paths[routing->order[0]] = 1;
    for (uint32_t i = 1; i < reached; i++) {
        uint32_t v = routing->order[i];
        double sum = 0;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            if (slot_leads_back(routing, v, slot))
                sum += routing->paths[graph->to[slot]];
        bool farther = routing->distance[v] > routing->distance[routing->order[i - 1]];
        if (!routing->length && farther)
            scale = sum > HEAVIER_COUNT ? 1 / HEAVIER_COUNT : 1;
        routing->paths[v] = fmin(fmax(sum * scale, 1e-200), 1e200);
    }
}

/* Adds the flows from one source to all nodes. False if some nodes are unreachable. */
static bool source_route(struct routing *routing, uint32_t source)
{
    const struct graph *graph = routing->graph;
    for (uint32_t v = 0; v < graph->node_count; v++)
        routing->distance[v] = INFINITY;
    uint32_t reached =
        routing->length ? search_lengths(routing, source) : search_breadth(routing, source);
    if (reached < graph->node_count)
        return false;
    paths_count(routing, reached);
    double sent = halving_weight(routing->halving, source);
    for (uint32_t v = 0; v < graph->node_count; v++)
        routing->amount[v] = sent * halving_weight(routing->halving, v);
    for (uint32_t i = reached; i-- > 1;) {
        uint32_t v = routing->order[i];
        double sum = 0;
        if (routing->amount[v] == 0)
            continue;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            if (slot_leads_back(routing, v, slot))
                sum += routing->paths[graph->to[slot]];
        assert(sum > 0);
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            if (!slot_leads_back(routing, v, slot))
                continue;
            uint32_t other = graph->to[slot];
            double share = routing->amount[v] * (routing->paths[other] / sum);
            routing->load[graph->channel[slot] / 2] += share;
            routing->amount[other] += share;
        }
    }
    return true;
}

/* Computes the loads of all links under the current lengths. Ordered pairs are routed and the loads
 * are halved, so that a pair of servers counts as one unit. */
static bool all_route(struct routing *routing, const struct cayley *cayley)
{
    const struct graph *graph = routing->graph;
    memset(routing->load, 0, graph->link_count * sizeof *routing->load);
    if (!cayley->holds || !routing->halving->uniform) {
        for (uint32_t v = 0; v < graph->node_count; v++)
            if (halving_weight(routing->halving, v) && !source_route(routing, v))
                return false;
        for (uint32_t e = 0; e < graph->link_count; e++)
            routing->load[e] /= 2;
        return true;
    }
    if (!source_route(routing, 0))
        return false;
    double *sum = routing->paths; /* no longer in use; there are at most as many classes as nodes */
    assert(cayley->class_count <= graph->node_count);
    for (uint32_t class = 0; class < cayley->class_count; class ++)
        sum[class] = 0;
    for (uint32_t e = 0; e < graph->link_count; e++)
        sum[cayley->link_class[e]] += routing->load[e];
    for (uint32_t e = 0; e < graph->link_count; e++) {
        uint32_t class = cayley->link_class[e];
        routing->load[e] = sum[class] * graph->node_count / cayley->class_links[class] / 2;
    }
    return true;
}

static double mixed_highest(const double *one, const double *other, double share, uint32_t count)
{
    double highest = 0;
    for (uint32_t e = 0; e < count; e++) {
        double load = one[e] + share * (other[e] - one[e]);
        highest = load > highest ? load : highest;
    }
    return highest;
}

/* Mixes the new loads into the old in the best share: the highest load is a convex function of the
 * share. */
static double loads_mix(double *best, const double *new, uint32_t count)
{
    double low = 0, high = 1;
    for (int i = 0; i < 30; i++) {
        double a = low + (high - low) * 0.382, b = low + (high - low) * 0.618;
        if (mixed_highest(best, new, a, count) <= mixed_highest(best, new, b, count))
            high = b;
        else
            low = a;
    }
    for (uint32_t e = 0; e < count; e++)
        best[e] += low * (new[e] - best[e]);
    return mixed_highest(best, best, 0, count);
}

/* A lower bound of the highest load of every routing. */
static double loads_mean(const double *load, const double *length, uint32_t count)
{
    double sum = 0, weight = 0;
    for (uint32_t e = 0; e < count; e++) {
        sum += load[e] * (length ? length[e] : 1);
        weight += length ? length[e] : 1;
    }
    return sum / weight;
}

/* Rounds of evening out; *highest is the load to reduce. */
static enum err loads_even(struct routing *routing, const struct cayley *cayley, uint32_t rounds,
                           double *highest, struct why *why)
{
    uint32_t links = routing->graph->link_count;
    double *best = array_copy(routing->load, links, sizeof *best);
    double *length = array_new(links, sizeof *length);
    if (!best || !length) {
        free(best);
        free(length);
        return why_memory(why);
    }
    routing->length = length;
    double least = loads_mean(routing->load, NULL, links);
    for (uint32_t round = 0; round<rounds && * highest> least * (1 + 1e-7); round++) {
        double steepness = 8 + 2.0 * round;
        for (uint32_t e = 0; e < links; e++)
            length[e] = 1e-3 + exp(steepness * (best[e] / *highest - 1));
        if (!all_route(routing, cayley))
            break;
        least = fmax(least, loads_mean(routing->load, length, links));
        *highest = loads_mix(best, routing->load, links);
    }
    routing->length = NULL;
    free(best);
    free(length);
    return OK;
}

enum err congestion_lower(const struct graph *graph, const struct halving *halving,
                          const struct cayley *cayley, double *bound, struct why *why)
{
    *bound = 0;
    double sources = cayley->holds && halving->uniform ? 1 : graph->node_count;
    double visits = sources * 8 * graph->link_count; /* four visits of both ends */
    if (graph->link_count == 0 || halving->light == 0 || visits > VISITS_MAX)
        return OK;
    struct routing routing;
    enum err err = routing_init(&routing, graph, halving, why);
    if (err)
        return err;
    if (all_route(&routing, cayley)) {
        double highest = mixed_highest(routing.load, routing.load, 0, graph->link_count);
        double rounds = VISITS_MAX / 8 / visits; /* a heap costs more than a queue */
        err = loads_even(&routing, cayley, rounds < ROUNDS_MAX ? (uint32_t)rounds : ROUNDS_MAX,
                         &highest, why);
        double pairs = (double)halving->light * (double)(halving->total - halving->light);
        /* The number of nodes and links together limits the terms of each sum and the nodes of each
         * path. */
        double error = 1e-9 + 1e-15 * ((double)graph->node_count + graph->link_count);
        *bound = pairs / highest * (1 - error);
    }
    routing_fini(&routing);
    return err;
}
