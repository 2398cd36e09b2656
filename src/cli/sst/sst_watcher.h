#pragma once
/* sst_watcher: reads a table without being a member, again and again, and makes pictures of it that
 * can be shown. */

#include <weft/ripc.h>

#include "base/err.h"
#include "cli/sst/sst_view.h"

struct sst_watcher;

/* Fails with a reason if no process has the table. */
MUST_CHECK enum err sst_watcher_open(struct ripc *ripc, ripc_id table, int64_t deadline,
                                     struct sst_watcher **watcher, struct why *why);
void sst_watcher_close(struct sst_watcher *watcher); /* NULL: nothing */

/* The table as it is now; the picture is good until the next one is taken. 0, or a negative errno:
 * -ENOENT if no process has it any more, -ESTALE if it is another one by now, with other columns:
 * open it again. */
MUST_CHECK int sst_watcher_take(struct sst_watcher *watcher, int64_t deadline,
                                struct sst_picture *picture);
