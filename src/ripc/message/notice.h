#pragma once
/* notice: receives notifications.
 *
 * Notifications arrive as frames at a hidden service of the context. A thread receives and counts
 * them, and calls back or rings the notice's bell. A context without threads does this in
 * ripc_progress. */

#include "ripc/core/context.h"

/* Takes notifications that have arrived and calls back. Called without the lock. Returns the number
 * of callbacks. */
int notices_deliver(struct ripc *ripc, int64_t deadline);

/* Ends the thread and frees all notices. With the lock held. */
void notices_close(struct ripc *ripc);
