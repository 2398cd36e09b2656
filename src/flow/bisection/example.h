#pragma once
/* example: graphs for the tests of this layer. */

#include <assert.h>
#include <stdlib.h>

#include "base/rng.h"
#include "topology/topology.h"

#define EXAMPLE_LINK_MAX 4096u

static inline void example_make(struct topology *topology, uint32_t nodes, const struct link *links,
                                uint32_t count)
{
    enum err err = topology_init(topology, TOPOLOGY_OTHER, true, nodes, links, count, NULL);
    assert(!err);
    (void)err;
}

static inline void example_spec(struct topology *topology, const char *spec)
{
    struct why why = {{0}};
    if (topology_build(topology, spec, &why) != OK)
        abort();
}

static inline void example_complete(struct topology *topology, uint32_t nodes)
{
    struct link links[EXAMPLE_LINK_MAX];
    uint32_t count = 0;
    assert(nodes * (nodes - 1) / 2 <= EXAMPLE_LINK_MAX);
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = a + 1; b < nodes; b++)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    example_make(topology, nodes, links, count);
}

/* Random cables, also parallel ones; first a tree if the graph must be connected. Up to `servers`
 * servers per node; 0: a direct network. */
static inline void example_random(struct topology *topology, uint32_t nodes, uint32_t cables,
                                  bool connected, uint32_t servers, struct rng *rng)
{
    struct link links[EXAMPLE_LINK_MAX];
    uint32_t count = 0;
    for (uint32_t v = 1; v < nodes && connected; v++)
        links[count++] = (struct link){v, (uint32_t)rng_below(rng, v), PORT_ANY, PORT_ANY};
    while (nodes > 1 && count < cables) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a != b)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    example_make(topology, nodes, links, count);
    topology->direct = servers == 0;
    for (uint32_t v = 0; v < nodes && servers; v++)
        topology->sites[v].servers = (uint32_t)rng_below(rng, servers + 1);
    topology_count_servers(topology);
}

/* A copy without one cable that still claims to be of the same kind. */
static inline void example_without(struct topology *broken, const struct topology *whole,
                                   uint32_t link)
{
    enum err err = topology_copy(broken, whole, NULL);
    assert(err == OK);
    uint32_t nodes = whole->graph.node_count, last = whole->graph.link_count - 1;
    struct link *links = broken->graph.links;
    links[link] = links[last];
    struct graph graph;
    err = graph_make(&graph, nodes, links, last, NULL);
    assert(err == OK);
    graph_fini(&broken->graph);
    broken->graph = graph;
}

/* The fewest cables between halves, directly from the definition. */
static inline uint64_t example_smallest(const struct topology *topology)
{
    uint32_t nodes = topology->graph.node_count;
    int64_t least_gap = INT64_MAX;
    uint64_t best = 0;
    for (uint32_t set = 0; set < 1u << nodes; set++) {
        int64_t gap = 0;
        uint64_t cut = 0;
        for (uint32_t v = 0; v < nodes; v++) {
            int64_t weight = topology->server_count ? topology->sites[v].servers : 1;
            gap += set >> v & 1 ? weight : -weight;
        }
        gap = gap < 0 ? -gap : gap;
        if (gap > least_gap)
            continue;
        for (uint32_t e = 0; e < topology->graph.link_count; e++)
            cut += (set >> topology->graph.links[e].a ^ set >> topology->graph.links[e].b) & 1;
        if (gap < least_gap || cut < best)
            best = cut;
        least_gap = gap;
    }
    return best;
}
