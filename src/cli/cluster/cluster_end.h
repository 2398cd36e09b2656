#pragma once
/* cluster_end: ending the processes of a cluster, and removing what they leave.
 *
 * Who lives is what the kernel says about the locks; no process is signalled that does not hold
 * one of ours. */

#include "cli/cluster/cluster.h"

/* Ends whoever holds the server's lock, and nobody else, at once; returns when the process is gone.
 * The pid; -ESRCH: nobody holds it; -ETIMEDOUT: the system does not end it. */
MUST_CHECK int cluster_kill(const char *folder, node_id server);

/* Ends all: politely, and after the grace by force; returns when the processes are gone. How many
 * servers had to be forced; negative errno: some cannot be ended. */
MUST_CHECK int cluster_end(const char *folder, int64_t grace);

/* Removes what a cluster's files are, and the folder if `up` made it. Counts what else was found
 * there. All its processes have ended. */
MUST_CHECK enum err cluster_remove(const char *folder, bool made_folder, uint32_t *others,
                                   struct why *why);

/* Does anything in the folder belong to a cluster? */
bool cluster_remains(const char *folder);
