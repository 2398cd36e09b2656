#pragma once
/* degree_diameter: large graphs of given degree and diameter. These are the graphs in the table of
 * the largest known ones for which a construction is published. */

#include <stddef.h>

#include "topology/topology.h"

#define DEGREE_DIAMETER_COMPLETE_MAX 4096    /* nodes of a complete graph */
#define DEGREE_DIAMETER_CYCLE_MAX    1000001 /* nodes of a cycle */
#define DEGREE_DIAMETER_SERVERS_MAX  1000

struct degree_diameter {
    uint32_t nodes, degree, diameter;
};

/* "degree-diameter:50,7,2": nodes, degree, diameter, of a graph on the list
 * below, a complete graph (d+1,d,1) or an odd cycle (2D+1,2,D). Ports are in
 * no particular order. Every node is a server; with a fourth field servers=K
 * it is a switch with K servers. */
MUST_CHECK enum err degree_diameter_build(struct topology *topology, const char *spec,
                                          struct why *why);

/* The list, in order of diameter, then degree. */
size_t degree_diameter_count(void);
struct degree_diameter degree_diameter_at(size_t index);
