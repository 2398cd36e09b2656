#pragma once
/* cluster_process: starts the processes of a cluster, and reads their logs.
 *
 * The processes are detached: they have their own sessions, no input, and output to log files. */

#include <sys/types.h>

#include "cli/cluster/cluster.h"

/* Finds the program weftd: the one that WEFTD names, or else weftd beside weft, or else in PATH. */
MUST_CHECK enum err cluster_weftd(char *path, size_t size, struct why *why);

/* Starts the process of that number. If there are enough processors, each process gets its own. */
MUST_CHECK enum err cluster_spawn(const struct cluster *cluster, const char *weftd,
                                  uint32_t process, pid_t *pid, struct why *why);

/* Returns how a child ended, as text ("exit code 1", "Killed"); NULL if it runs. */
const char *cluster_ended(pid_t pid, char *text, size_t size);

/* Finds the last line that the process of a server printed; "" if there is none. */
void cluster_log_line(const struct cluster *cluster, node_id server, char *line, size_t size);
