#pragma once
/* sst_watcher: reads a table without being a member, and makes pictures of it. */

#include <weft/ripc.h>

#include "base/err.h"
#include "cli/sst/sst_view.h"

struct sst_watcher;

/* Fails with a reason if no process has the table. */
MUST_CHECK enum err sst_watcher_open(struct ripc *ripc, ripc_id table, int64_t deadline,
                                     struct sst_watcher **watcher, struct why *why);
void sst_watcher_close(struct sst_watcher *watcher); /* may be NULL */

/* Takes a picture of the table, which is valid until the next one is taken. Returns 0 or a negative
 * errno: -ENOENT if no process has the table any more, -ESTALE if it was replaced by a table with
 * other columns, which must be opened again. */
MUST_CHECK int sst_watcher_take(struct sst_watcher *watcher, int64_t deadline,
                                struct sst_picture *picture);
