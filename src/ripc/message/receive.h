#pragma once
/* receive: from frames of a service's arrivals to messages of the program. */

#include "ripc/message/arrival.h"

/* Takes messages from all pipes. Returns their number. */
int arrivals_take(struct ripc_service *service, struct ripc_message *out, unsigned max);

/* Takes one message. Waits for it without a deadline; a signal ends the wait with -EINTR. */
int receive_interruptibly(struct ripc_service *service, struct ripc_message *message,
                          const struct waiting_signals *signals);

/* True if arrivals_take would find something. */
bool arrivals_wait(struct ripc_service *service);
