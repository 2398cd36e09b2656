#pragma once
/* ending: what ends an arrival or takes messages of it back: its sender closes the pipe or
 * cancels an operation, the sender's process dies, or our service closes. */

#include "ripc/message/arrival.h"

/* The sender closes the pipe, or cancels. */
void arrival_end(struct peer *peer, struct control_words *words);
void arrival_cancel(struct peer *peer, struct control_words *words);

/* The peer died: what came is still to be taken. */
void arrivals_orphan(struct peer *peer);

/* The service closes. Waits, without the lock, for transfers into its memory. */
void arrivals_close(struct ripc_service *service);
