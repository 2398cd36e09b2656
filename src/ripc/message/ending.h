#pragma once
/* ending: the ends of an arrival, and cancelled messages: the sender closes the pipe or cancels an
 * operation, the sender's process dies, or our service closes. */

#include "ripc/message/arrival.h"

/* The sender closes the pipe, or cancels an operation. */
void arrival_end(struct peer *peer, struct control_words *words);
void arrival_cancel(struct peer *peer, struct control_words *words);

/* The peer died: messages that arrived can still be received. */
void arrivals_orphan(struct peer *peer);

/* The service closes. Waits, with the lock released, for transfers into its memory. */
void arrivals_close(struct ripc_service *service);
