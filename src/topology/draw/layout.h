#pragma once
/* layout: the positions of the nodes of a topology in a drawing.
 *
 * Positions are in units of the usual distance between neighbours in the drawing, y downwards. The
 * same topology always gets the same layout. */

#include "base/err.h"
#include "topology/topology.h"

enum layout_kind {
    LAYOUT_AUTO,   /* the layout that suits the topology */
    LAYOUT_GRID,   /* along the axes of a torus, the third one into the depth */
    LAYOUT_CIRCLE, /* on a circle; each group on a circle of its own */
    LAYOUT_LEVELS, /* edge switches at the bottom, core switches at the top */
    LAYOUT_SPRING, /* neighbours attract, all others repel */
};

extern const char *const layout_names[]; /* by kind; ends with NULL */

struct point {
    double x, y;
};

struct layout {
    enum layout_kind kind;  /* never LAYOUT_AUTO */
    struct point *at;       /* one per node; owned */
    struct point low, high; /* the box around all of them */
    double spacing;         /* smallest distance between two nodes */
};

/* Refuses a layout that the topology does not allow (a grid without axes). */
MUST_CHECK enum err layout_make(struct layout *layout, const struct topology *topology,
                                enum layout_kind kind, struct why *why);
void layout_fini(struct layout *layout);
