#pragma once
/* cluster_commission: a cluster whose servers do not know their places (os/cluster/serial_file.h):
 * the machines and cables that represent the physical world, and the findings of the servers. */

#include "cli/cluster/cluster.h"
#include "cli/core/result.h"
#include "os/cluster/serial_file.h"

/* Makes serial numbers for the machines, and the wiring between them. The wiring is read from
 * `wiring_file`, or is that of the plan if this is NULL. No server is told which machine is at
 * which place. */
MUST_CHECK enum err cluster_machines_make(struct cluster *cluster, const char *wiring_file,
                                          struct topology *wiring, struct why *why);

/* The findings of the servers, after all have their places. */
struct cluster_findings {
    uint32_t *serials; /* the machine at each place; owned */
    struct text lines; /* one for each finding, as the servers wrote it */
};

MUST_CHECK enum err cluster_findings_read(struct cluster_findings *findings,
                                          const struct cluster *cluster, struct why *why);
void cluster_findings_fini(struct cluster_findings *findings);

/* Adds the keys `machines` and `findings` to a result; a machine has a `name` for the page. */
void cluster_findings_put(const struct cluster_findings *findings, const struct cluster *cluster,
                          struct result *result);
