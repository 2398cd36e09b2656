#pragma once
/* cayley: networks that look the same from every node.
 *
 * If the nodes have coordinates and every node's cables lead by the same differences (each
 * coordinate modulo its axis), the graph is a Cayley graph of an abelian group: a torus, or a
 * NovaCube of even sizes. This is checked cable by cable, not inferred from the topology's kind.
 * Then every eigenvalue of the Laplacian has a closed form, and what is computed from one node
 * holds for all nodes. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

struct cayley {
    bool holds;
    uint32_t
        class_count; /* a class: cables with the same difference, in one direction or the other */
    uint32_t *link_class;  /* owned; per link */
    uint32_t *class_links; /* owned; per class: how many links */
};

MUST_CHECK enum err cayley_init(struct cayley *cayley, const struct topology *topology,
                                struct why *why);
void cayley_fini(struct cayley *cayley);

/* A number that is at most the second eigenvalue of the Laplacian, and smaller only by rounding.
 * The Cayley property must hold for the topology. */
double cayley_second_eigenvalue(const struct topology *topology);
