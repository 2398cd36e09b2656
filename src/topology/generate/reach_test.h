#pragma once
/* reach_test: measures a small graph with a plain search. For tests only: the code under test must
 * not be its own oracle. */

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "topology/topology.h"

struct reach {
    uint32_t degree_min, degree_max;
    uint32_t diameter;
    uint64_t sum;   /* of the distances of all ordered pairs */
    uint64_t pairs; /* ordered pairs of distinct nodes that have a path */
    bool simple;    /* no two cables between the same two nodes */
};

/* Builds a topology; the test fails if that is impossible. */
static inline struct topology reach_build(const char *spec)
{
    struct topology topology;
    struct why why = {0};
    enum err err = topology_build(&topology, spec, &why);
    if (err)
        fail_msg("%s", why.text);
    topology_check(&topology);
    return topology;
}

/* "name:kxkxk" with n sizes. */
static inline const char *reach_cube(char text[SPEC_SIZE], const char *name, uint32_t k, uint32_t n)
{
    int used = snprintf(text, SPEC_SIZE, "%s:%u", name, k);
    for (uint32_t axis = 1; axis < n; axis++)
        used += snprintf(text + used, SPEC_SIZE - (size_t)used, "x%u", k);
    return text;
}

/* distance[] from one node to all others; UINT32_MAX if there is no path. */
static inline void reach_search(const struct graph *graph, uint32_t from, uint32_t *distance,
                                uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        distance[v] = UINT32_MAX;
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            if (distance[graph->to[slot]] != UINT32_MAX)
                continue;
            distance[graph->to[slot]] = distance[v] + 1;
            queue[tail++] = graph->to[slot];
        }
    }
}

static inline bool reach_simple(const struct graph *graph)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        for (uint32_t one = graph->first[v]; one < graph->first[v + 1]; one++)
            for (uint32_t two = one + 1; two < graph->first[v + 1]; two++)
                if (graph->to[one] == graph->to[two])
                    return false;
    return true;
}

/* Measures from the first `sources` nodes; exact if these are all nodes. */
static inline struct reach reach_measure(const struct graph *graph, uint32_t sources)
{
    struct reach reach = {.degree_min = UINT32_MAX, .simple = reach_simple(graph)};
    uint32_t *distance = array_new(graph->node_count, sizeof *distance);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    assert_true(distance && queue);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        uint32_t degree = graph_degree(graph, v);
        if (degree < reach.degree_min)
            reach.degree_min = degree;
        if (degree > reach.degree_max)
            reach.degree_max = degree;
    }
    for (uint32_t from = 0; from < sources; from++) {
        reach_search(graph, from, distance, queue);
        for (uint32_t v = 0; v < graph->node_count; v++) {
            if (v == from || distance[v] == UINT32_MAX)
                continue;
            reach.pairs++;
            reach.sum += distance[v];
            if (distance[v] > reach.diameter)
                reach.diameter = distance[v];
        }
    }
    free(distance);
    free(queue);
    return reach;
}

static inline bool reach_whole(const struct reach *reach, const struct graph *graph)
{
    return reach->pairs == (uint64_t)graph->node_count * (graph->node_count - 1);
}
