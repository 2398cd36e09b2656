#pragma once
/* cluster_end: ends the processes of a cluster and removes their files.
 *
 * The locks tell which processes run; only processes that hold a lock of the cluster are
 * signalled. */

#include "cli/cluster/cluster.h"

/* Kills the process that holds the lock of the server, and returns when it has ended. Returns its
 * pid, -ESRCH if no process holds the lock, or -ETIMEDOUT if the process does not end. */
MUST_CHECK int cluster_kill(const char *folder, node_id server);

/* Asks all processes to end, kills those that have not after `grace`, and returns when all have
 * ended. Returns how many servers had to be killed, or a negative errno if some do not end. */
MUST_CHECK int cluster_end(const char *folder, int64_t grace);

/* Removes the files of a cluster whose processes have all ended, and the folder if `up` made it.
 * Counts other files in the folder. */
MUST_CHECK enum err cluster_remove(const char *folder, bool made_folder, uint32_t *others,
                                   struct why *why);

/* Tells whether the folder has files of a cluster. */
bool cluster_remains(const char *folder);
