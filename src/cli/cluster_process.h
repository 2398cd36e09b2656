#pragma once
/* cluster_process: the processes of a cluster: starting, ending, and removing what they leave.
 *
 * They are detached: sessions of their own, input from nowhere, output into log files. Who lives is
 * what the kernel says about the locks; no process is signalled that does not hold one of ours. */

#include <sys/types.h>

#include "cli/cluster.h"

/* The program: WEFTD, or weftd beside this program, or in PATH. */
MUST_CHECK enum err cluster_weftd(char *path, size_t size, struct why *why);

/* Starts the process of that number. With few enough processes each gets a processor of its own. */
MUST_CHECK enum err cluster_spawn(const struct cluster *cluster, const char *weftd,
                                  uint32_t process, pid_t *pid, struct why *why);

/* A child that has ended: how, as text ("exit code 1", "Killed"); NULL: it lives. */
const char *cluster_ended(pid_t pid, char *text, size_t size);

/* Ends a child of ours at once, and waits for that. */
void cluster_child_end(pid_t pid);

/* The last line that a server's process printed; "" if there is none. */
void cluster_log_line(const struct cluster *cluster, node_id server, char *line, size_t size);

/* Sends the signal to whoever holds the lock, and to nobody else; the pid. -ESRCH: nobody does. */
MUST_CHECK int cluster_signal(const char *folder, node_id server, int signal);

/* Ends all: politely, and after the grace by force. Returns how many had to be forced; negative
 * errno: some cannot be ended. */
MUST_CHECK int cluster_end(const char *folder, int64_t grace);

/* Removes what a cluster's files are, and the folder if `up` made it. Counts what else was found
 * there. All its processes have ended. */
MUST_CHECK enum err cluster_remove(const char *folder, bool made_folder, uint32_t *others,
                                   struct why *why);

/* Does anything in the folder belong to a cluster? */
bool cluster_remains(const char *folder);
