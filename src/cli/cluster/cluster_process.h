#pragma once
/* cluster_process: the processes of a cluster, how they are started and what they last said.
 *
 * They are detached: sessions of their own, input from nowhere, output into log files. */

#include <sys/types.h>

#include "cli/cluster/cluster.h"

/* The program: WEFTD, or weftd beside this program, or in PATH. */
MUST_CHECK enum err cluster_weftd(char *path, size_t size, struct why *why);

/* Starts the process of that number. With few enough processes each gets a processor of its own. */
MUST_CHECK enum err cluster_spawn(const struct cluster *cluster, const char *weftd,
                                  uint32_t process, pid_t *pid, struct why *why);

/* A child that has ended: how, as text ("exit code 1", "Killed"); NULL: it lives. */
const char *cluster_ended(pid_t pid, char *text, size_t size);

/* The last line that a server's process printed; "" if there is none. */
void cluster_log_line(const struct cluster *cluster, node_id server, char *line, size_t size);
