#pragma once
/* graph: cables between nodes, in compressed adjacency.
 *
 * A link is a cable with two ends; each end is a port of a node, numbered from
 * 0 at that node. Link e is two directed channels: 2e from a to b, 2e+1 back.
 * Parallel links are allowed, loops are not. A graph is immutable once made
 * and owns its arrays. */

#include <stdbool.h>
#include <stdint.h>

#include "base/bfs.h"
#include "base/err.h"

#define NODE_NONE      UINT32_MAX
#define PORT_ANY       UINT32_MAX /* graph_make picks the lowest free port */
#define GRAPH_NODE_MAX 100000000u
#define GRAPH_LINK_MAX 200000000u /* 13 GB while it is made; channels fit 32 bits */

struct link {
    uint32_t a, b;
    uint32_t a_port, b_port;
};

struct graph {
    uint32_t node_count;
    uint32_t link_count;
    struct link *links; /* link_count, in the order given to graph_make */
    uint32_t *first;    /* node_count + 1: slots of node v are first[v] .. first[v+1] - 1 */
    uint32_t *to;       /* per slot, ordered by port: the neighbour */
    uint32_t *channel;  /* per slot: the channel that leaves here */
};

/* Builds the adjacency of `link_count` links, which are copied. Ends with PORT_ANY get the lowest
 * port numbers that no other link of the node has, in link order. Fails on a node out of range, a
 * loop, or a port that is used twice. */
MUST_CHECK enum err graph_make(struct graph *graph, uint32_t node_count, const struct link *links,
                               uint32_t link_count, struct why *why);
void graph_fini(struct graph *graph);

static inline uint32_t graph_degree(const struct graph *graph, uint32_t node)
{
    return graph->first[node + 1] - graph->first[node];
}

/* Two channels per link. The number of slots is the same. */
static inline uint32_t graph_channel_count(const struct graph *graph)
{
    return 2 * graph->link_count;
}

/* The port at which a channel leaves its node. */
static inline uint32_t graph_channel_port(const struct graph *graph, uint32_t channel)
{
    const struct link *link = &graph->links[channel / 2];
    return channel & 1 ? link->b_port : link->a_port;
}

static inline uint32_t graph_channel_from(const struct graph *graph, uint32_t channel)
{
    const struct link *link = &graph->links[channel / 2];
    return channel & 1 ? link->b : link->a;
}

static inline uint32_t graph_channel_to(const struct graph *graph, uint32_t channel)
{
    return graph_channel_from(graph, channel ^ 1);
}

/* Runs a search that was started (base/bfs.h) until it has visited every node that it can reach. */
void graph_search(const struct graph *graph, struct bfs *bfs);

bool graph_adjacent(const struct graph *graph, uint32_t a, uint32_t b);
MUST_CHECK enum err graph_connected(const struct graph *graph, bool *connected, struct why *why);

/* True if both have the same nodes, links (in any order and direction) and ports. */
bool graph_equal(const struct graph *one, const struct graph *other);

/* Asserts every invariant above. */
void graph_check(const struct graph *graph);
