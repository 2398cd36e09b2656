#pragma once
/* cluster_data: the data directory of a cluster, in which its services keep files. It survives
 * `weft down`. */

#include "cli/cluster/cluster.h"
#include "os/data/data_lock.h"

/* For `up`, when folder, topology and servers are known: sets file.data (the option --data, else
 * WEFT_DATA, else FOLDER.data if the run directory was named, else weft in XDG_STATE_HOME or
 * ~/.local/state) and file.data_id, which is that of the data if this topology has some there. If
 * the data is used, a folder that a server would refuse is refused here. */
MUST_CHECK enum err cluster_data_choose(struct cluster *cluster, const struct call *call, bool used,
                                        struct why *why);

/* A start of servers that use the data. What it found is known, so that it takes back only what it
 * has made. */
struct cluster_data_start {
    struct data_lock lock; /* no other start uses the data directory meanwhile */
    bool servers;          /* there was the folder of a server before */
};

/* Before the servers start: locks the data directory, and looks again whose the data is, because
 * another cluster may have made folders since. If the data is not used, nothing is done. Ended by
 * cluster_data_end, also after a failure. */
MUST_CHECK enum err cluster_data_begin(struct cluster *cluster, bool used,
                                       struct cluster_data_start *start, struct why *why);
/* When all servers have started, or all servers of a start that failed have ended: then removes
 * what they have made and what is without data. If there were folders of servers before, it is left
 * to each server to remove what it has made. */
void cluster_data_end(const struct cluster *cluster, struct cluster_data_start *start, bool failed);

/* How many servers of this cluster have data. */
uint32_t cluster_data_count(const struct cluster *cluster);

/* For `down`, when all servers have ended: counts the servers that have data, and erases it if
 * requested. */
MUST_CHECK enum err cluster_data_leave(const struct cluster *cluster, bool erase, uint32_t *stored,
                                       struct why *why);
