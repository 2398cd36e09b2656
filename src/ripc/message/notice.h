#pragma once
/* notice: receives notifications.
 *
 * Notifications arrive as frames at a hidden service of the context. A thread receives and counts
 * them. Then it calls the callback of the notice or rings its bell. A context opened with
 * RIPC_MANUAL has no such thread: there ripc_progress does all of this, and ripc_notice_wait also
 * receives.
 *
 * A sender asks the owner once whether there is such a notice, so that a wrong token is an error of
 * ripc_notify. It remembers the answer with the peer. If a notice was closed since, the owner says
 * so when the next notification comes. */

#include "ripc/core/peer.h"

/* Waits for notifications until the deadline, and calls the callbacks of all notices that are due.
 * Called without the lock. Returns the number of callbacks, or -ECHILD if a callback forked and
 * this is the child. */
int notices_deliver(struct ripc *ripc, int64_t deadline);

/* Ends the thread and frees all notices. Called with the lock held; drops it while it waits for
 * threads. */
void notices_close(struct ripc *ripc);

/* Handlers of CONTROL_NOTICE_ASK and CONTROL_NOTICE_ANSWER, and of the end of a peer. */
void notice_asked(struct peer *peer, struct control_words *words);
void notice_answered(struct peer *peer, struct control_words *words);
void notices_forget(struct peer *peer);
