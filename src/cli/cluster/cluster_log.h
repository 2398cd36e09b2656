#pragma once
/* cluster_log: what services did wrong while their cluster ended. `weft down` removes the logs, so
 * no user could read it there.
 *
 *     struct cluster_logs logs;
 *     cluster_logs_mark(&logs, folder);
 *     ...                                  // the processes end
 *     uint32_t crashed = cluster_logs_tell(&logs, &call->notes);
 *     cluster_logs_fini(&logs); */

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct cluster_logs {
    const char *folder; /* borrowed */
    struct dirent **entries;
    off_t *sizes; /* of each log when it was marked */
    int count;
};

/* Notes how long each log is. If memory runs out, or the folder cannot be read, there are no
 * logs: they are no reason not to end a cluster. */
void cluster_logs_mark(struct cluster_logs *logs, const char *folder);
/* Writes the lines since then that name a service or a crash, the first few of them, one "weft: "
 * each. Returns in how many logs there is a crash. */
uint32_t cluster_logs_tell(const struct cluster_logs *logs, struct text *out);
void cluster_logs_fini(struct cluster_logs *logs);
