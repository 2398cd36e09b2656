#include "flow/concurrent/price.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

/* Paths without traffic are kept while they are at most this factor longer than the shortest:
 * weights fluctuate, and these paths are often needed again. */
static const double keep_within = 1.1;

/* A path must be shorter than the known paths by more than rounding. */
static const double shorter_by = 1 - 1e-9;

enum err price_open(struct price *price, const struct graph *graph, const struct traffic *traffic,
                    struct why *why)
{
    *price = (struct price){.graph = graph, .traffic = traffic};
    size_t nodes = graph->node_count;
    enum err err = spread_open(&price->next, graph, traffic, why);
    price->slot_weight = array_new(graph_channel_count(graph), sizeof *price->slot_weight);
    price->distance = array_new(nodes, sizeof *price->distance);
    price->parent = array_new(nodes, sizeof *price->parent);
    price->wanted = array_new(nodes, sizeof *price->wanted);
    price->route = array_new(nodes, sizeof *price->route);
    bool heap = heap_init(&price->heap, price->distance, graph->node_count);
    if (!err && heap && price->slot_weight && price->distance && price->parent && price->wanted &&
        price->route)
        return OK;
    price_close(price);
    return why_memory(why);
}

void price_close(struct price *price)
{
    spread_close(&price->next);
    free(price->slot_weight);
    free(price->distance);
    free(price->parent);
    heap_fini(&price->heap);
    free(price->wanted);
    free(price->route);
    *price = (struct price){0};
}

/* Computes distances from one node until all wanted nodes are final. */
static void search(struct price *price, uint32_t source, uint32_t wanted)
{
    const struct graph *graph = price->graph;
    for (uint32_t v = 0; v < graph->node_count; v++)
        price->distance[v] = INFINITY;
    price->distance[source] = 0;
    price->heap.count = 0;
    heap_add(&price->heap, source);
    while (price->heap.count) {
        uint32_t node = heap_take(&price->heap);
        if (price->wanted[node] && --wanted == 0)
            return;
        double distance = price->distance[node];
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            uint32_t to = graph->to[slot];
            double through = distance + price->slot_weight[slot];
            if (through >= price->distance[to])
                continue;
            if (price->distance[to] == INFINITY)
                heap_add(&price->heap, to);
            price->distance[to] = through;
            price->parent[to] = graph->channel[slot];
            heap_lowered(&price->heap, to);
        }
    }
}

/* Writes the channels of the path found to price->route; returns their number. */
static size_t trace(struct price *price, uint32_t from, uint32_t to)
{
    size_t hops = 0;
    for (uint32_t v = to; v != from; v = graph_channel_from(price->graph, price->parent[v]))
        hops++;
    size_t left = hops;
    for (uint32_t v = to; v != from; v = graph_channel_from(price->graph, price->parent[v]))
        price->route[--left] = price->parent[v];
    return hops;
}

/* Writes the paths of one demand to price->next: those worth keeping, and the one just found if it
 * is shorter than all of them. */
static enum err renew(struct price *price, const struct flow_spread *spread, size_t demand,
                      const double *weight, struct why *why)
{
    const struct path_set *paths = &spread->paths;
    const struct demand *ends = &price->traffic->demands[demand];
    double distance = price->distance[ends->to], known = INFINITY;
    enum err err = path_set_pair(&price->next.paths, why);
    if (err)
        return err;
    bool fresh = paths->pair_count == 0;
    size_t first = fresh ? 0 : paths->pair_first[demand];
    size_t end = fresh ? 0 : paths->pair_first[demand + 1];
    for (size_t p = first; p < end; p++) {
        double length = path_set_length(paths, p, weight);
        known = fmin(known, length);
        if (spread->rates[p] <= 0 && length > keep_within * distance)
            continue;
        err = spread_add(&price->next, path_set_channels(paths, p), path_set_hops(paths, p),
                         spread->rates[p], why);
        if (err)
            return err;
    }
    if (distance >= shorter_by * known)
        return OK;
    size_t hops = trace(price, ends->from, ends->to);
    return spread_add(&price->next, price->route, hops, fresh ? ends->amount : 0, why);
}

/* All demands of one source, from number `first` to `end` - 1. */
static enum err price_source(struct price *price, const struct flow_spread *spread, size_t first,
                             size_t end, const double *weight, double *total, size_t *apart,
                             struct why *why)
{
    const struct demand *demands = price->traffic->demands;
    for (size_t k = first; k < end; k++)
        price->wanted[demands[k].to] = true;
    search(price, demands[first].from, (uint32_t)(end - first));
    for (size_t k = first; k < end; k++)
        price->wanted[demands[k].to] = false;
    for (size_t k = first; k < end; k++) {
        *total += demands[k].amount * price->distance[demands[k].to];
        if (*total == INFINITY) {
            *apart = k;
            return OK;
        }
        enum err err = renew(price, spread, k, weight, why);
        if (err)
            return err;
    }
    return OK;
}

static void swap_paths(struct flow_spread *one, struct flow_spread *other)
{
    struct path_set paths = one->paths;
    double *rates = one->rates;
    size_t capacity = one->rate_capacity;
    one->paths = other->paths;
    one->rates = other->rates;
    one->rate_capacity = other->rate_capacity;
    other->paths = paths;
    other->rates = rates;
    other->rate_capacity = capacity;
}

enum err price_round(struct price *price, struct flow_spread *spread, const double *weight,
                     double *total, size_t *apart, struct why *why)
{
    const struct graph *graph = price->graph;
    const struct traffic *traffic = price->traffic;
    for (size_t slot = 0; slot < graph_channel_count(graph); slot++)
        price->slot_weight[slot] = weight[graph->channel[slot]];
    path_set_clear(&price->next.paths);
    *total = 0;
    for (size_t first = 0, end; first < traffic->count; first = end) {
        for (end = first + 1; end < traffic->count; end++)
            if (traffic->demands[end].from != traffic->demands[first].from)
                break;
        enum err err = price_source(price, spread, first, end, weight, total, apart, why);
        if (err || *total == INFINITY)
            return err;
    }
    swap_paths(spread, &price->next);
    return OK;
}

double price_given(const struct flow_spread *spread, const double *weight)
{
    const struct path_set *paths = &spread->paths;
    double total = 0;
    for (size_t k = 0; k < paths->pair_count; k++) {
        double least = INFINITY;
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++)
            least = fmin(least, path_set_length(paths, p, weight));
        total += spread->traffic->demands[k].amount * least;
    }
    return total;
}

double price_effort(const struct price *price)
{
    const struct traffic *traffic = price->traffic;
    size_t sources = 0;
    for (size_t k = 0; k < traffic->count; k++)
        sources += k == 0 || traffic->demands[k].from != traffic->demands[k - 1].from;
    /* a node costs a pop from the heap, a channel one visit */
    return (double)sources * (20.0 * price->graph->node_count + 2.0 * price->graph->link_count);
}
