#pragma once
/* cluster_view: a running cluster as lines for a terminal: its health, the torus in slices with the
 * load of every link, and the busiest links. A pure function of two surveys.
 *
 * A slice is a plane of the torus. The load of a link along the first axis is shown between its two
 * servers, along the second axis below a server, and along the third axis diagonally. */

#include "base/text.h"
#include "cli/cluster/cluster_health.h"
#include "cli/show/table_text.h"

struct cluster_view {
    const struct plan *plan;
    const struct cluster_seen *now;
    const struct cluster_seen *before; /* the first of the two surveys */
    const struct cluster_health *health;
    uint64_t rate; /* bits a second of a link's direction; 0: compare with the busiest link */
    bool coming;   /* another picture follows, so show how to quit */
};

/* Bytes a second over a cable, in both directions. */
struct cluster_load {
    double forth, back;
};

/* Computes the load of each cable of the health. */
void cluster_view_loads(const struct cluster_view *view, struct cluster_load *loads);

MUST_CHECK enum err cluster_view_text(const struct cluster_view *view, struct text *out,
                                      const struct table_text_style *style, struct why *why);
