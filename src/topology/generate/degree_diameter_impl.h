#pragma once
/* The list of graphs; only the files of degree_diameter share it. */

#include "topology/generate/degree_diameter.h"
#include "topology/generate/lift_graph.h"

enum construction {
    FROM_PLANE,      /* field_graph_plane(q) */
    FROM_QUADRANGLE, /* field_graph_quadrangle(q, copies) */
    FROM_HEXAGON,    /* field_graph_hexagon() */
    FROM_MMS,        /* field_graph_mms(q) */
    FROM_LIFT,
    FROM_CAYLEY,
};

struct degree_diameter_entry {
    struct degree_diameter size;
    enum construction from;
    uint32_t q;
    uint32_t copies;
    const struct lift_graph *lift;
    const struct cayley_graph *cayley;
};

extern const struct degree_diameter_entry degree_diameter_list[];
extern const size_t degree_diameter_list_count;
