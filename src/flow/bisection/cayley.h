#pragma once
/* cayley: networks that look the same from every node.
 *
 * If the nodes have coordinates and every node's cables lead by the same
 * differences (each coordinate taken round its axis), the graph is a Cayley
 * graph of an abelian group: a torus, or a NovaCube of even sizes. This is
 * checked cable by cable, not believed from the topology's kind. Then every
 * eigenvalue of the Laplacian has a closed form, and one source stands for all. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

struct cayley {
    bool holds;
    uint32_t class_count;  /* a class: cables that lead by the same difference, either way */
    uint32_t *link_class;  /* owned; per link */
    uint32_t *class_links; /* owned; per class: how many links */
};

MUST_CHECK enum err cayley_init(struct cayley *cayley, const struct topology *topology,
                                struct why *why);
void cayley_fini(struct cayley *cayley);

/* A number no greater than the second eigenvalue of the Laplacian, and less by
 * rounding only. The topology must hold. */
double cayley_second_eigenvalue(const struct topology *topology);
