#pragma once
/* lift_graph: graphs that a group and a few numbers define. */

#include <stddef.h>
#include <stdint.h>

#include "topology/generate/link_list.h"

/* One edge of the base graph. A loop whose voltage is its own inverse is a half-edge: it makes one
 * cable per pair of nodes, not one per node. */
struct lift_edge {
    uint16_t from, to;
    uint16_t voltage;
};

/* The lift of a base graph by voltages in the cyclic group: node (i, g) is
 * g * base + i, and an edge joins (from, g) to (to, g + voltage). */
struct lift_graph {
    uint32_t group; /* order of the cyclic group */
    uint32_t base;  /* nodes of the base graph */
    const struct lift_edge *edges;
    size_t edge_count;
};

/* A generator [x,y]; its inverse is implied. */
struct cayley_generator {
    uint16_t x, y;
};

/* The Cayley graph of the semidirect product of Z_m and Z_n with the product
 * [x,y][u,v] = [x + u, y a^u + v]. Node [x,y] is x n + y. */
struct cayley_graph {
    uint32_t m, n;
    uint32_t a; /* a^m = 1 mod n */
    const struct cayley_generator *generators;
    size_t generator_count;
};

void lift_graph_add(const struct lift_graph *lift, struct link_list *list);
void cayley_graph_add(const struct cayley_graph *cayley, struct link_list *list);
