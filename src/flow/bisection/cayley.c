#include "flow/bisection/cayley.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

/* Subtracts the coordinates of two nodes, each axis modulo its size. Returns the node that has the
 * result as its coordinates. */
static uint32_t node_difference(const struct topology *topology, uint32_t from, uint32_t to)
{
    uint32_t a[AXIS_MAX], b[AXIS_MAX];
    topology_coordinate(topology, from, a);
    topology_coordinate(topology, to, b);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint32_t size = topology->axis_size[axis];
        b[axis] = (b[axis] + size - a[axis]) % size;
    }
    return topology_node_at(topology, b);
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Writes the differences between a node and its neighbours, in ascending order. */
static void node_differences(const struct topology *topology, uint32_t node, uint32_t *difference)
{
    const struct graph *graph = &topology->graph;
    uint32_t degree = graph_degree(graph, node);
    for (uint32_t i = 0; i < degree; i++)
        difference[i] = node_difference(topology, node, graph->to[graph->first[node] + i]);
    qsort(difference, degree, sizeof *difference, by_number);
}

static bool coordinates_fit(const struct topology *topology)
{
    uint64_t nodes = 1;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        nodes *= topology->axis_size[axis];
    return topology->axis_count > 0 && nodes == topology->graph.node_count;
}

static void links_classify(struct cayley *cayley, const struct topology *topology,
                           uint32_t *smaller)
{
    const struct graph *graph = &topology->graph;
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        uint32_t there = node_difference(topology, link->a, link->b);
        uint32_t back = node_difference(topology, link->b, link->a);
        uint32_t key = there < back ? there : back, class = 0;
        while (class < cayley->class_count && smaller[class] != key)
            class ++;
        if (class == cayley->class_count)
            smaller[cayley->class_count++] = key;
        cayley->link_class[e] = class;
        cayley->class_links[class]++;
    }
}

enum err cayley_init(struct cayley *cayley, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    *cayley = (struct cayley){0};
    if (graph->link_count == 0 || !coordinates_fit(topology))
        return OK;
    uint32_t degree = graph_degree(graph, 0);
    uint32_t *model = array_new(degree, sizeof *model);
    uint32_t *mine = array_new(degree, sizeof *mine);
    cayley->link_class = array_new(graph->link_count, sizeof *cayley->link_class);
    cayley->class_links = array_new(degree, sizeof *cayley->class_links);
    enum err err = OK;
    if (!model || !mine || !cayley->link_class || !cayley->class_links) {
        err = why_memory(why);
        goto done;
    }
    node_differences(topology, 0, model);
    cayley->holds = true;
    for (uint32_t v = 1; v < graph->node_count && cayley->holds; v++) {
        cayley->holds = graph_degree(graph, v) == degree;
        if (cayley->holds) {
            node_differences(topology, v, mine);
            cayley->holds = memcmp(mine, model, degree * sizeof *mine) == 0;
        }
    }
    if (cayley->holds)
        links_classify(cayley, topology, mine);
done:
    free(model);
    free(mine);
    if (err)
        cayley_fini(cayley);
    return err;
}

void cayley_fini(struct cayley *cayley)
{
    free(cayley->link_class);
    free(cayley->class_links);
    *cayley = (struct cayley){0};
}

/* The eigenvectors of the Laplacian are the characters of the group. There is one for each node j,
 * whose coordinates j_i are its frequencies. Its eigenvalue is the sum of
 * 1 - cos(2 pi sum_i j_i s_i / k_i) over the differences s between a node and its neighbours; k_i
 * is the size of axis i. */
double cayley_second_eigenvalue(const struct topology *topology)
{
    const struct graph *graph = &topology->graph;
    double least = INFINITY;
    uint32_t degree = graph_degree(graph, 0);
    for (uint32_t j = 1; j < graph->node_count; j++) {
        uint32_t frequency[AXIS_MAX], difference[AXIS_MAX];
        topology_coordinate(topology, j, frequency);
        double sum = 0;
        for (uint32_t i = 0; i < degree; i++) {
            topology_coordinate(topology, graph->to[i], difference);
            double turns = 0;
            for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
                uint32_t size = topology->axis_size[axis];
                turns += (double)((uint64_t)frequency[axis] * difference[axis] % size) / size;
            }
            sum += 1 - cos(2 * M_PI * turns);
        }
        least = fmin(least, sum);
    }
    /* The rounding error of a term is about 1e-15 for each axis, far below the 1e-12 that is
     * subtracted for each term. */
    return graph->node_count > 1 ? fmax(0, least - 1e-12 * degree) : 0;
}
