/* graph: construction, and queries that every layer uses.
 *
 * Invariants, asserted by graph_check: first[] never decreases and ends at twice the number of
 * links; slots of a node are ordered by port; channel[] and to[] agree with links[]; every channel
 * is in exactly one slot. */
#include "topology/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

/* One end of a link while the slots of its node are sorted. */
struct end {
    uint32_t port;
    uint32_t channel;
};

static int end_by_port(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return a->channel < b->channel ? -1 : a->channel > b->channel;
}

static enum err links_validate(uint32_t node_count, const struct link *links, uint32_t link_count,
                               struct why *why)
{
    if (node_count > GRAPH_NODE_MAX)
        return why_fail(why, ERR_USAGE, "%u nodes are too many; the maximum is %u", node_count,
                        GRAPH_NODE_MAX);
    if (link_count > GRAPH_LINK_MAX)
        return why_fail(why, ERR_USAGE, "%u links are too many; the maximum is %u", link_count,
                        GRAPH_LINK_MAX);
    for (uint32_t e = 0; e < link_count; e++) {
        if (links[e].a >= node_count || links[e].b >= node_count)
            return why_fail(
                why, ERR_INPUT,
                "link %u joins nodes %u and %u, but there are only %u nodes, numbered from 0", e,
                links[e].a, links[e].b, node_count);
        if (links[e].a == links[e].b)
            return why_fail(why, ERR_INPUT, "link %u joins node %u to itself", e, links[e].a);
    }
    return OK;
}

/* Gives every PORT_ANY end of one node the lowest port that no other end of the node has. The ends
 * are ordered by port, PORT_ANY last. */
static enum err ports_assign(struct end *ends, uint32_t count, uint32_t node, struct why *why)
{
    uint32_t fixed = 0;
    while (fixed < count && ends[fixed].port != PORT_ANY) {
        if (fixed > 0 && ends[fixed].port == ends[fixed - 1].port)
            return why_fail(why, ERR_INPUT, "port %u of node %u has two cables", ends[fixed].port,
                            node);
        fixed++;
    }
    uint32_t taken = 0, port = 0;
    for (uint32_t i = fixed; i < count; i++) {
        for (; taken < fixed && ends[taken].port == port; taken++)
            port++;
        ends[i].port = port++;
    }
    return OK;
}

static bool ports_sorted(const struct end *ends, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (end_by_port(&ends[i - 1], &ends[i]) > 0)
            return false;
    return true;
}

static enum err slots_fill(struct graph *graph, struct end *ends, struct why *why)
{
    for (uint32_t v = 0; v < graph->node_count; v++) {
        struct end *mine = ends + graph->first[v];
        uint32_t count = graph_degree(graph, v);
        if (!ports_sorted(mine, count))
            qsort(mine, count, sizeof *mine, end_by_port);
        enum err err = ports_assign(mine, count, v, why);
        if (err)
            return err;
        if (!ports_sorted(mine, count))
            qsort(mine, count, sizeof *mine, end_by_port);
        for (uint32_t i = 0; i < count; i++) {
            struct link *link = &graph->links[mine[i].channel / 2];
            *(mine[i].channel & 1 ? &link->b_port : &link->a_port) = mine[i].port;
            graph->channel[graph->first[v] + i] = mine[i].channel;
            graph->to[graph->first[v] + i] = mine[i].channel & 1 ? link->a : link->b;
        }
    }
    return OK;
}

/* Computes first[] by counting, then puts every end into its node's range, in link order. */
static void ends_distribute(struct graph *graph, struct end *ends)
{
    uint32_t *first = graph->first;
    for (uint32_t e = 0; e < graph->link_count; e++) {
        first[graph->links[e].a + 1]++;
        first[graph->links[e].b + 1]++;
    }
    for (uint32_t v = 0; v < graph->node_count; v++)
        first[v + 1] += first[v];
    /* Shifted by one, first[v + 1] is the place of node v's next end. After all ends are placed, it
     * is the end of v's slots, which is the meaning of first[]. */
    for (uint32_t v = graph->node_count; v > 0; v--)
        first[v] = first[v - 1];
    first[0] = 0;
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        ends[first[link->a + 1]++] = (struct end){link->a_port, 2 * e};
        ends[first[link->b + 1]++] = (struct end){link->b_port, 2 * e + 1};
    }
}

enum err graph_make(struct graph *graph, uint32_t node_count, const struct link *links,
                    uint32_t link_count, struct why *why)
{
    enum err err = links_validate(node_count, links, link_count, why);
    if (err)
        return err;
    *graph = (struct graph){.node_count = node_count, .link_count = link_count};
    size_t slots = 2 * (size_t)link_count;
    struct end *ends = array_new(slots, sizeof *ends);
    graph->links = array_copy(links, link_count, sizeof *links);
    graph->first = array_new((size_t)node_count + 1, sizeof *graph->first);
    graph->to = array_new(slots, sizeof *graph->to);
    graph->channel = array_new(slots, sizeof *graph->channel);
    if (!ends || !graph->links || !graph->first || !graph->to || !graph->channel) {
        err = why_memory(why);
        goto fail;
    }
    ends_distribute(graph, ends);
    err = slots_fill(graph, ends, why);
    if (err)
        goto fail;
    free(ends);
    return OK;

fail:
    free(ends);
    graph_fini(graph);
    return err;
}

void graph_fini(struct graph *graph)
{
    free(graph->links);
    free(graph->first);
    free(graph->to);
    free(graph->channel);
    *graph = (struct graph){0};
}

bool graph_adjacent(const struct graph *graph, uint32_t a, uint32_t b)
{
    if (graph_degree(graph, a) > graph_degree(graph, b)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    for (uint32_t slot = graph->first[a]; slot < graph->first[a + 1]; slot++)
        if (graph->to[slot] == b)
            return true;
    return false;
}

void graph_search(const struct graph *graph, struct bfs *bfs)
{
    for (uint32_t v; bfs_take(bfs, &v);)
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            bfs_visit(bfs, v, graph->to[slot]);
}

enum err graph_connected(const struct graph *graph, bool *connected, struct why *why)
{
    *connected = graph->node_count < 2;
    if (*connected)
        return OK;
    struct bfs bfs;
    if (!bfs_init(&bfs, graph->node_count))
        return why_memory(why);
    bfs_start(&bfs, 0);
    graph_search(graph, &bfs);
    *connected = bfs.count == graph->node_count;
    bfs_fini(&bfs);
    return OK;
}

bool graph_equal(const struct graph *one, const struct graph *other)
{
    if (one->node_count != other->node_count || one->link_count != other->link_count)
        return false;
    /* Slots are ordered by port, so equal graphs have equal slots. */
    for (uint32_t v = 0; v <= one->node_count; v++)
        if (one->first[v] != other->first[v])
            return false;
    for (uint32_t slot = 0; slot < 2 * one->link_count; slot++) {
        uint32_t mine = one->channel[slot], theirs = other->channel[slot];
        if (one->to[slot] != other->to[slot] ||
            graph_channel_port(one, mine) != graph_channel_port(other, theirs) ||
            graph_channel_port(one, mine ^ 1) != graph_channel_port(other, theirs ^ 1))
            return false;
    }
    return true;
}

void graph_check(const struct graph *graph)
{
    assert(graph->first[0] == 0);
    assert(graph->first[graph->node_count] == 2 * graph->link_count);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        assert(graph->first[v] <= graph->first[v + 1]);
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t channel = graph->channel[slot];
            assert(channel < 2 * graph->link_count);
            assert(graph_channel_from(graph, channel) == v);
            assert(graph_channel_to(graph, channel) == graph->to[slot]);
            assert(graph->to[slot] != v);
            if (slot > graph->first[v])
                assert(graph_channel_port(graph, graph->channel[slot - 1]) <
                       graph_channel_port(graph, channel));
        }
    }
}
