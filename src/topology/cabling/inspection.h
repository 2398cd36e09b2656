#pragma once
/* inspection: compares the planned cables with the cables that were found.
 *
 * Two reports that name each other are one cable. A report whose other end reports nothing is a
 * cable too, unless another report contradicts it: then both reports are left out, and the
 * contradiction is a finding of its own.
 *
 * An inspection owns its arrays; inspection_fini frees them. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/cabling/neighbour_report.h"
#include "topology/graph.h"
#include "topology/topology.h"

#define FINDING_NONE UINT32_MAX

/* Port A reports B as its neighbour, but B reports another port, or a third port reports A or B. */
struct contradiction {
    struct neighbour_report claim;
    struct neighbour_report other;
};

/* A planned cable with one end in the right place and the other end elsewhere. */
struct misplacement {
    uint32_t link;  /* index of a link of the plan */
    uint32_t found; /* index into `found` */
    bool link_b;    /* the right end is b of the link, else a */
    bool found_b;   /* ... and b of the cable that was found, else a */
    uint32_t swap;  /* the misplacement it was exchanged with, or FINDING_NONE */
};

struct inspection {
    bool ports;         /* compare ports; else only which nodes are joined */
    struct link *found; /* cables as reported; here a node may be joined to itself */
    uint32_t found_count;
    struct contradiction *contradictions;
    uint32_t contradiction_count;

    uint32_t *right; /* cables found that are as planned */
    uint32_t right_count;
    struct misplacement *misplaced;
    uint32_t misplaced_count;
    uint32_t *missing; /* links of the plan of which neither end was found */
    uint32_t missing_count;
    uint32_t *surplus; /* cables found of which neither end fits a missing one */
    uint32_t surplus_count;
};

MUST_CHECK enum err inspection_make(struct inspection *inspection, const struct topology *plan,
                                    const struct neighbour_reports *reports, bool ports,
                                    struct why *why);
void inspection_fini(struct inspection *inspection);

/* True if the wiring is the plan and no report contradicts it. */
bool inspection_ok(const struct inspection *inspection);
