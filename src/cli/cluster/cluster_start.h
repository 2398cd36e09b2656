#pragma once
/* cluster_start: waits until the servers of started processes reach each other. */

#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_process.h"

#define CLUSTER_WAIT_SECONDS 60 /* 27 processes on two busy cores take a few seconds */

struct cluster_start {
    const struct cluster *cluster;
    struct cluster_seen *seen; /* by the last survey, for each server */
    pid_t *pids;               /* for each process; 0: we did not start it, or it ended */
    /* By the last survey, for each server: the lowest server that it can reach by links that are
     * not cut. */
    node_id *parts;
    int64_t begun;
};

MUST_CHECK enum err cluster_start_init(struct cluster_start *start, const struct cluster *cluster,
                                       struct why *why);
void cluster_start_fini(struct cluster_start *start);

/* Waits until every server of our processes is ready: it has settled, and it reaches all live
 * servers except those behind cut links. Then waits a little longer for links that are still coming
 * up. Shows progress meanwhile. Fails after `seconds`, when a process ends, or after Ctrl-C; the
 * error names a server that is not ready and the last line of its log. */
MUST_CHECK enum err cluster_start_wait(struct cluster_start *start, double seconds,
                                       struct why *why);
