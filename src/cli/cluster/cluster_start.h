#pragma once
/* cluster_start: from processes that were started to servers that reach each other. */

#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_process.h"

#define CLUSTER_WAIT_SECONDS 60 /* 27 processes on two busy cores take a few */

struct cluster_start {
    const struct cluster *cluster;
    struct cluster_seen *seen; /* of the last survey */
    pid_t *pids;               /* of each process: our child, or 0 if we did not start it */
    node_id *parts; /* of each server, likewise of the last survey: the least that its links may
                     * lead it to */
    int64_t begun;
};

MUST_CHECK enum err cluster_start_init(struct cluster_start *start, const struct cluster *cluster,
                                       struct why *why);
void cluster_start_fini(struct cluster_start *start);

/* Waits until every server of every process of ours has settled and reaches all that answer and
 * that cut links do not keep from it, shows progress meanwhile; and a little longer, for the links
 * that are still coming. Refuses with who did not and the last line of its log; or when Ctrl-C
 * came. */
MUST_CHECK enum err cluster_start_wait(struct cluster_start *start, double seconds,
                                       struct why *why);
