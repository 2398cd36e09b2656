#pragma once
/* cluster_commission: a cluster whose servers do not know their places (os/cluster/serial_file.h):
 * the machines and cables that stand for the physical world, and what the servers found. */

#include "cli/cluster/cluster.h"
#include "cli/core/result.h"
#include "os/cluster/serial_file.h"

/* Serial numbers for the machines, and how they are wired: as the file says, or, if that is NULL,
 * as planned. Which machine is where, nobody is told. */
MUST_CHECK enum err cluster_machines_make(struct cluster *cluster, const char *wiring_file,
                                          struct topology *wiring, struct why *why);

/* What they found, once all have their places. The lines are the servers' own. */
struct cluster_findings {
    uint32_t *serials; /* at each place; owned */
    struct text lines; /* one for each finding */
};

MUST_CHECK enum err cluster_findings_read(struct cluster_findings *findings,
                                          const struct cluster *cluster, struct why *why);
void cluster_findings_fini(struct cluster_findings *findings);

/* The keys `machines` and `findings` of a result; a machine has a `name` for the page. */
void cluster_findings_put(const struct cluster_findings *findings, const struct cluster *cluster,
                          struct result *result);
