/* failure: links and nodes are each shuffled once, with a random stream of their own, and the first
 * ones fail. So a higher share includes a lower one, and the links that fail do not depend on how
 * many nodes fail. */
#include "topology/measure/failure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"

/* "faillink" and "failnode": different from the streams of the generators. */
#define STREAM_LINKS UINT64_C(0x6661696c6c696e6b)
#define STREAM_NODES UINT64_C(0x6661696c6e6f6465)

/* One byte per item: 0 if it failed. NULL if memory is short. */
static uint8_t *survivors(uint32_t count, double share, uint64_t seed, uint64_t stream)
{
    uint8_t *keep = array_new(count, sizeof *keep);
    uint32_t *order = array_new(count, sizeof *order);
    if (!keep || !order) {
        free(keep);
        free(order);
        return NULL;
    }
    struct rng rng = rng_make(seed, stream);
    uint32_t failed = (uint32_t)round(share * count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    rng_shuffle(&rng, order, count);
    for (uint32_t i = failed; i < count; i++)
        keep[order[i]] = 1;
    free(order);
    return keep;
}

/* Maps old numbers to new ones; NODE_NONE if the node failed. */
static uint32_t number(uint32_t *renumbered, const uint8_t *keep, uint32_t count)
{
    uint32_t next = 0;
    for (uint32_t v = 0; v < count; v++)
        renumbered[v] = keep[v] ? next++ : NODE_NONE;
    return next;
}

/* Copies the sites and names of the remaining nodes. */
static enum err carry_over(struct topology *out, const struct topology *topology,
                           const uint32_t *renumbered, struct why *why)
{
    bool renamed = out->graph.node_count != topology->graph.node_count;
    if (renamed || topology->names) {
        out->names = array_new(out->graph.node_count, sizeof *out->names);
        if (!out->names)
            return why_memory(why);
    }
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        if (renumbered[v] == NODE_NONE)
            continue;
        char buffer[NODE_NAME_SIZE];
        out->sites[renumbered[v]] = topology->sites[v];
        if (!out->names)
            continue;
        out->names[renumbered[v]] = strdup(topology_name(topology, v, buffer));
        if (!out->names[renumbered[v]])
            return why_memory(why);
    }
    topology_count_servers(out);
    if (!renamed) { /* numbers are still coordinates */
        out->axis_count = topology->axis_count;
        memcpy(out->axis_size, topology->axis_size, sizeof out->axis_size);
    }
    return OK;
}

static enum err remove_failed(struct topology *out, const struct topology *topology,
                              const uint8_t *keep_link, const uint8_t *keep_node,
                              uint32_t *renumbered, struct link *kept, struct why *why)
{
    const struct graph *graph = &topology->graph;
    uint32_t node_count = number(renumbered, keep_node, graph->node_count), link_count = 0;
    for (uint32_t e = 0; e < graph->link_count; e++) {
        struct link link = graph->links[e];
        if (!keep_link[e] || !keep_node[link.a] || !keep_node[link.b])
            continue;
        link.a = renumbered[link.a];
        link.b = renumbered[link.b];
        kept[link_count++] = link;
    }
    enum err err =
        topology_init(out, TOPOLOGY_OTHER, topology->direct, node_count, kept, link_count, why);
    if (err)
        return err;
    err = carry_over(out, topology, renumbered, why);
    if (err)
        topology_fini(out);
    return err;
}

enum err failure_apply(struct topology *out, const struct topology *topology, double link_share,
                       double node_share, uint64_t seed, struct why *why)
{
    const struct graph *graph = &topology->graph;
    if (!(link_share >= 0 && link_share <= 1) || !(node_share >= 0 && node_share <= 1))
        return why_fail(why, ERR_USAGE, "failures: a share must be from 0 to 1");
    if (link_share == 0 && node_share == 0)
        return topology_copy(out, topology, why);
    uint8_t *keep_link = survivors(graph->link_count, link_share, seed, STREAM_LINKS);
    uint8_t *keep_node = survivors(graph->node_count, node_share, seed, STREAM_NODES);
    uint32_t *renumbered = array_new(graph->node_count, sizeof *renumbered);
    struct link *kept = array_new(graph->link_count, sizeof *kept);
    enum err err = keep_link && keep_node && renumbered && kept
                       ? remove_failed(out, topology, keep_link, keep_node, renumbered, kept, why)
                       : why_memory(why);
    free(keep_link);
    free(keep_node);
    free(renumbered);
    free(kept);
    return err;
}
