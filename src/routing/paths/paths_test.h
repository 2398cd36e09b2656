#pragma once
/* paths_test: small graphs of many kinds, the number of their loopless paths by enumeration, and
 * checks for every set of paths. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "routing/paths/path_set.h"
#include "topology/graph.h"

#define PATHS_TEST_NODES 40
#define PATHS_TEST_LINKS 400

static inline void paths_test_add(struct link *links, uint32_t *count, uint32_t a, uint32_t b)
{
    if (a != b && *count < PATHS_TEST_LINKS)
        links[(*count)++] = (struct link){a, b, PORT_ANY, PORT_ANY};
}

static inline void paths_test_clique(struct link *links, uint32_t *count, uint32_t first,
                                     uint32_t end)
{
    for (uint32_t a = first; a < end; a++)
        for (uint32_t b = a + 1; b < end; b++)
            paths_test_add(links, count, a, b);
}

enum paths_test_kind {
    PATHS_RANDOM, /* random links, also parallel ones, often in several parts */
    PATHS_TREE,
    PATHS_RING,
    PATHS_BARBELL, /* two cliques and a path between them */
    PATHS_DOUBLED, /* a tree in which every cable is doubled */
    PATHS_KIND_COUNT,
};

/* A graph of 2 or more nodes. */
static inline struct graph paths_test_graph(enum paths_test_kind kind, uint32_t nodes,
                                            struct rng *rng)
{
    struct link links[PATHS_TEST_LINKS];
    uint32_t count = 0, third = nodes / 3;
    assert_true(nodes >= 2 && nodes <= PATHS_TEST_NODES);
    if (kind == PATHS_RANDOM)
        for (uint32_t left = (uint32_t)rng_below(rng, 2 * nodes); left > 0; left--)
            paths_test_add(links, &count, (uint32_t)rng_below(rng, nodes),
                           (uint32_t)rng_below(rng, nodes));
    for (uint32_t v = 1; (kind == PATHS_TREE || kind == PATHS_DOUBLED) && v < nodes; v++) {
        uint32_t parent = (uint32_t)rng_below(rng, v);
        for (int copies = kind == PATHS_DOUBLED ? 2 : 1; copies > 0; copies--)
            paths_test_add(links, &count, parent, v);
    }
    for (uint32_t v = 0; kind == PATHS_RING && v < nodes; v++)
        paths_test_add(links, &count, v, (v + 1) % nodes);
    if (kind == PATHS_BARBELL) {
        paths_test_clique(links, &count, 0, third);
        paths_test_clique(links, &count, nodes - third, nodes);
        for (uint32_t v = third ? third : 1; v <= nodes - third && v < nodes; v++)
            paths_test_add(links, &count, v - 1, v);
    }
    struct graph graph;
    assert_int_equal(graph_make(&graph, nodes, links, count, NULL), OK);
    return graph;
}

static inline void paths_test_step(const struct graph *graph, uint32_t at, uint32_t to,
                                   uint32_t hops, bool *passed, uint64_t *counts)
{
    if (at == to) {
        counts[hops]++;
        return;
    }
    passed[at] = true;
    for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++)
        if (!passed[graph->to[slot]])
            paths_test_step(graph, graph->to[slot], to, hops + 1, passed, counts);
    passed[at] = false;
}

/* counts[h]: loopless paths of h hops; room for PATHS_TEST_NODES. */
static inline void paths_test_count(const struct graph *graph, uint32_t from, uint32_t to,
                                    uint64_t *counts)
{
    bool passed[PATHS_TEST_NODES] = {false};
    memset(counts, 0, PATHS_TEST_NODES * sizeof *counts);
    paths_test_step(graph, from, to, 0, passed, counts);
}

/* Checks that the paths of a pair lead from one end to the other, visit no node twice, differ from
 * each other, and are in order of length. */
static inline void paths_test_check(const struct graph *graph, const struct path_set *set,
                                    size_t pair, uint32_t from, uint32_t to)
{
    bool *passed = calloc(graph->node_count, sizeof *passed);
    assert_non_null(passed);
    for (size_t path = set->pair_first[pair]; path < set->pair_first[pair + 1]; path++) {
        const uint32_t *channels = path_set_channels(set, path);
        size_t hops = path_set_hops(set, path);
        uint32_t at = from;
        memset(passed, 0, graph->node_count * sizeof *passed);
        passed[from] = true;
        for (size_t i = 0; i < hops; i++) {
            assert_int_equal(graph_channel_from(graph, channels[i]), at);
            at = graph_channel_to(graph, channels[i]);
            assert_false(passed[at]);
            passed[at] = true;
        }
        assert_int_equal(at, to);
        for (size_t other = set->pair_first[pair]; other < path; other++) {
            assert_true(path_set_hops(set, other) <= hops);
            assert_false(path_set_hops(set, other) == hops &&
                         !memcmp(path_set_channels(set, other), channels, hops * sizeof *channels));
        }
    }
    free(passed);
}
