/* connectivity: minimum cuts as maximum flows of unit capacity.
 *
 * A graph is its own residual network: channel c can still carry room[c], and a flow over c adds
 * room on c ^ 1, its reverse. For edge connectivity every channel starts with room for one. For
 * vertex connectivity a graph with twice the nodes is made: node v is split into an entrance and an
 * exit that are joined by a link with room for one, so that a flow passes v once.
 *
 * Flows are Dinic's, and stop as soon as they reach the smallest known cut: a larger flow would
 * change nothing. These flows are needed:
 *   edge    between the nodes of a dominating set (Matula, FOCS 1987): a cut smaller than every
 *           degree has a node of the set on both sides. That argument needs simple graphs; in a
 *           graph with parallel links the flows are from one node to all others.
 *   vertex  from a node of least degree to all that are not its neighbours, and between its
 *           neighbours (Esfahanian and Hakimi, Networks 1984): either the node is outside some
 *           smallest cut, or it belongs to one and then has neighbours on both sides. */
#include "topology/measure/connectivity.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/measure/parts.h"

enum err connectivity_components(const struct graph *graph, uint32_t *count, struct why *why)
{
    uint32_t *label;
    enum err err = parts_label(graph, &label, why);
    *count = 0;
    for (uint32_t v = 0; !err && v < graph->node_count; v++)
        *count += label[v] == v; /* the lowest node of its part */
    free(label);
    return err;
}

struct flow {
    const struct graph *graph; /* borrowed; the residual network */
    const uint8_t *capacity;   /* borrowed; per channel, before any flow */
    uint8_t *room;             /* per channel, at present */
    struct bfs bfs;            /* from the sink backwards over channels with room */
    uint32_t *slot;            /* per node: its next slot to try */
    uint32_t *path;            /* channels of the path, from the source on */
};

static void flow_fini(struct flow *flow)
{
    free(flow->room);
    bfs_fini(&flow->bfs);
    free(flow->slot);
    free(flow->path);
}

static enum err flow_init(struct flow *flow, const struct graph *graph, const uint8_t *capacity,
                          struct why *why)
{
    size_t nodes = graph->node_count;
    *flow = (struct flow){.graph = graph, .capacity = capacity};
    flow->room = array_new(graph_channel_count(graph), sizeof *flow->room);
    flow->slot = array_new(nodes, sizeof *flow->slot);
    flow->path = array_new(nodes, sizeof *flow->path);
    if (bfs_init(&flow->bfs, graph->node_count) && flow->room && flow->slot && flow->path)
        return OK;
    flow_fini(flow);
    return why_memory(why);
}

/* Computes levels from the sink backwards, until the source has one. */
static bool flow_levels(struct flow *flow, uint32_t source, uint32_t sink)
{
    const struct graph *graph = flow->graph;
    bfs_clear(&flow->bfs);
    bfs_start(&flow->bfs, sink);
    for (uint32_t v; bfs_take(&flow->bfs, &v);)
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            if (bfs_seen(&flow->bfs, w) || !flow->room[graph->channel[slot] ^ 1])
                continue;
            bfs_visit(&flow->bfs, v, w);
            if (w == source)
                return true;
        }
    return false;
}

/* Follows channels that lead one level down; false if no path is left at these levels. */
static bool flow_augment(struct flow *flow, uint32_t source, uint32_t sink)
{
    const struct graph *graph = flow->graph;
    const uint32_t *level = flow->bfs.level;
    uint32_t *path = flow->path, length = 0, v = source;
    while (v != sink) {
        if (flow->slot[v] == graph->first[v + 1]) {
            if (v == source)
                return false;
            v = graph_channel_from(graph, path[--length]);
            flow->slot[v]++; /* a dead end: never try this channel again */
            continue;
        }
        uint32_t channel = graph->channel[flow->slot[v]], w = graph->to[flow->slot[v]];
        /* The level of an unvisited node is the largest number. */
        if (flow->room[channel] && level[w] < level[v]) {
            path[length++] = channel;
            v = w;
        } else {
            flow->slot[v]++;
        }
    }
    for (uint32_t i = 0; i < length; i++) {
        flow->room[path[i]]--;
        flow->room[path[i] ^ 1]++;
    }
    return true;
}

/* The maximum flow, or `limit` if the flow is at least that. */
static uint32_t flow_run(struct flow *flow, uint32_t source, uint32_t sink, uint32_t limit)
{
    const struct graph *graph = flow->graph;
    uint32_t sum = 0;
    memcpy(flow->room, flow->capacity, graph_channel_count(graph));
    while (sum < limit && flow_levels(flow, source, sink)) {
        memcpy(flow->slot, graph->first, graph->node_count * sizeof *flow->slot);
        while (sum < limit && flow_augment(flow, source, sink))
            sum++;
    }
    return sum;
}

static uint32_t least_degree_node(const struct graph *graph)
{
    uint32_t best = 0;
    for (uint32_t v = 1; v < graph->node_count; v++)
        if (graph_degree(graph, v) < graph_degree(graph, best))
            best = v;
    return best;
}

/* seen[w] = v + 1 marks w as a neighbour of v, so it needs no clearing. */
static bool has_parallel_links(const struct graph *graph, uint32_t *seen)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            if (seen[graph->to[slot]] == v + 1)
                return true;
            seen[graph->to[slot]] = v + 1;
        }
    return false;
}

/* Finds nodes such that every smallest cut (below the least degree) separates two of them: a greedy
 * dominating set, or all nodes. Returns their number. */
static uint32_t edge_terminals(const struct graph *graph, uint32_t *terminals, uint32_t *scratch)
{
    bool all = has_parallel_links(graph, scratch);
    uint32_t count = 0;
    memset(scratch, 0, graph->node_count * sizeof *scratch);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        if (!all && scratch[v])
            continue;
        terminals[count++] = v;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            scratch[graph->to[slot]] = 1;
    }
    return count;
}

enum err connectivity_edge(const struct graph *graph, struct observer progress,
                           uint32_t *connectivity, struct why *why)
{
    *connectivity = 0;
    if (graph->node_count < 2)
        return OK;
    struct flow flow;
    size_t channels = graph_channel_count(graph);
    uint8_t *capacity = array_new(channels, sizeof *capacity);
    uint32_t *terminals = array_new(graph->node_count, sizeof *terminals);
    uint32_t *scratch = array_new(graph->node_count, sizeof *scratch);
    enum err err = why_memory(why);
    if (!capacity || !terminals || !scratch)
        goto done;
    err = flow_init(&flow, graph, capacity, why);
    if (err)
        goto done;
    memset(capacity, 1, channels);
    uint32_t best = graph_degree(graph, least_degree_node(graph));
    uint32_t count = edge_terminals(graph, terminals, scratch);
    for (uint32_t i = 1; i < count && best > 0; i++) {
        best = flow_run(&flow, terminals[0], terminals[i], best);
        observer_tell(&progress, "edge connectivity", i + 1, count);
    }
    *connectivity = best;
    flow_fini(&flow);

done:
    free(capacity);
    free(terminals);
    free(scratch);
    return err;
}

static uint32_t entrance(uint32_t node)
{
    return 2 * node;
}

static uint32_t leaving(uint32_t node)
{
    return 2 * node + 1;
}

/* Splits each node in two. Every link goes one way only; its reverse has no room until a flow was
 * sent. Of parallel links one is enough. */
static enum err graph_split(struct graph *split, uint8_t **capacity, const struct graph *graph,
                            struct why *why)
{
    uint64_t most = (uint64_t)graph->node_count + graph_channel_count(graph);
    if (most > GRAPH_LINK_MAX || 2 * (uint64_t)graph->node_count > GRAPH_NODE_MAX)
        return why_fail(why, ERR_USAGE, "vertex connectivity: a graph of %u nodes is too large",
                        graph->node_count);
    struct link *links = array_new(most, sizeof *links);
    uint32_t *seen = array_new(graph->node_count, sizeof *seen);
    uint32_t count = 0;
    enum err err = why_memory(why);
    *capacity = NULL;
    if (!links || !seen)
        goto done;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        links[count++] = (struct link){entrance(v), leaving(v), PORT_ANY, PORT_ANY};
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            if (seen[w] != v + 1)
                links[count++] = (struct link){leaving(v), entrance(w), PORT_ANY, PORT_ANY};
            seen[w] = v + 1;
        }
    }
    *capacity = array_new(2 * (size_t)count, 1);
    if (!*capacity)
        goto done;
    for (uint32_t e = 0; e < count; e++)
        (*capacity)[2 * e] = 1;
    err = graph_make(split, 2 * graph->node_count, links, count, why);
    if (err)
        free(*capacity);

done:
    free(links);
    free(seen);
    return err;
}

/* The smallest cut below the given bound between the pairs that Esfahanian and Hakimi use. */
static uint32_t vertex_cut(struct flow *flow, const struct graph *graph, uint32_t from,
                           uint32_t bound, struct observer progress)
{
    static const char stage[] = "vertex connectivity";
    uint32_t degree = graph_degree(graph, from), best = bound;
    const uint32_t *near = graph->to + graph->first[from];
    uint64_t total = graph->node_count + (uint64_t)degree * (degree - 1) / 2, done = 0;
    for (uint32_t v = 0; v < graph->node_count && best > 0; v++) {
        if (v != from && !graph_adjacent(graph, from, v))
            best = flow_run(flow, leaving(from), entrance(v), best);
        observer_tell(&progress, stage, ++done, total);
    }
    for (uint32_t i = 0; i < degree && best > 0; i++)
        for (uint32_t j = 0; j < i && best > 0; j++) {
            if (near[i] != near[j] && !graph_adjacent(graph, near[i], near[j]))
                best = flow_run(flow, leaving(near[i]), entrance(near[j]), best);
            observer_tell(&progress, stage, ++done, total);
        }
    return best;
}

enum err connectivity_vertex(const struct graph *graph, struct observer progress,
                             uint32_t *connectivity, struct why *why)
{
    *connectivity = 0;
    if (graph->node_count < 2)
        return OK;
    struct graph split;
    struct flow flow;
    uint8_t *capacity;
    uint32_t from = least_degree_node(graph), bound = graph_degree(graph, from);
    enum err err = graph_split(&split, &capacity, graph, why);
    if (err)
        return err;
    if (bound > graph->node_count - 1)
        bound = graph->node_count - 1; /* parallel links */
    err = flow_init(&flow, &split, capacity, why);
    if (!err) {
        *connectivity = vertex_cut(&flow, graph, from, bound, progress);
        flow_fini(&flow);
    }
    graph_fini(&split);
    free(capacity);
    return err;
}
