#pragma once
/* retiring: a service that is about to be unbound asks its senders to hold, and receives everything
 * that they had sent. Then it can be unbound without a loss, and bound again in another process.
 *
 *   our service                            a sender
 *   ripc_retire: CONTROL_RETIRE  -------->  pushes nothing more on this pipe; its sends wait
 *                                <--------  CONTROL_HELD: the number of frames in the pipe
 *   receives until it has taken so many
 *   ripc_unbind: CONTROL_GONE    -------->  sends look the id up again
 *
 * The sender answers under its own lock, under which it also pushes, so the number is final. It
 * costs neither side a memory barrier or a check for each message. */

#include "ripc/message/arrival.h"

/* Handles CONTROL_HELD. */
void arrival_counted(struct peer *peer, struct control_words *words);

/* True if every sender of the retiring service holds or has ended, and all that they sent has been
 * received. */
bool arrivals_are_drained(struct ripc_service *service);
