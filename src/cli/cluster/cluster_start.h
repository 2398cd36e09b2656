#pragma once
/* cluster_start: waits until the servers of started processes reach each other. */

#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_process.h"

#define CLUSTER_WAIT_SECONDS 60 /* 27 processes on two busy cores take a few seconds */

struct cluster_start {
    const struct cluster *cluster;
    struct cluster_seen *seen; /* of the last survey */
    pid_t *pids;               /* of each process that we started; 0: we did not */
    node_id *parts; /* by the last survey, for each server: the lowest server that it can reach */
    int64_t begun;
};

MUST_CHECK enum err cluster_start_init(struct cluster_start *start, const struct cluster *cluster,
                                       struct why *why);
void cluster_start_fini(struct cluster_start *start);

/* Waits until every server of our processes has settled and reaches all servers that answer, except
 * behind cut links; then a little longer for links that are still coming up. Shows progress
 * meanwhile. Fails with a server that is not ready and the last line of its log, or after Ctrl-C.
 */
MUST_CHECK enum err cluster_start_wait(struct cluster_start *start, double seconds,
                                       struct why *why);
