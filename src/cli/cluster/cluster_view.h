#pragma once
/* cluster_view: a cluster at work, as lines for a terminal: its health, the torus in slices with
 * the load of every link, and the links that carry most. A pure function of two surveys.
 *
 * A slice is a plane of the torus. Between two servers stands the load of their link, below a
 * server that of the link along the second axis, and diagonally that along the third. */

#include "base/text.h"
#include "cli/cluster/cluster_health.h"
#include "cli/show/table_text.h"

struct cluster_view {
    const struct plan *plan;
    const struct cluster_seen *now;
    const struct cluster_seen *before; /* what is shown happened since then */
    const struct cluster_health *health;
    uint64_t rate; /* bits a second of a link's direction; 0: the busiest link is the measure */
    bool coming;   /* another frame will follow: say how to quit */
};

/* Bytes a second over a cable, both ways. */
struct cluster_load {
    double forth, back;
};

/* Of each of the health's cables. */
void cluster_view_loads(const struct cluster_view *view, struct cluster_load *loads);

MUST_CHECK enum err cluster_view_text(const struct cluster_view *view, struct text *out,
                                      const struct table_text_style *style, struct why *why);
