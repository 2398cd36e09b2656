#pragma once
/* notice: places where notifications arrive.
 *
 * They come as frames to a hidden service of the context, which a thread of
 * its own receives: it counts them, and calls back or rings the notice's bell.
 * A context without threads does that in ripc_progress. */

#include "ripc/core/context.h"

/* Takes what has come and calls back. Called without the lock. Returns how many. */
int notices_deliver(struct ripc *ripc, int64_t deadline);

/* Ends the thread and frees all. With the lock held. */
void notices_close(struct ripc *ripc);
