#pragma once
/* receive: from frames of a service's arrivals to messages of the program. */

#include "ripc/message/arrival.h"

/* Takes messages from all pipes. Returns their number. */
int arrivals_take(struct ripc_service *service, struct ripc_message *out, unsigned max);

/* True if arrivals_take would find something. */
bool arrivals_wait(struct ripc_service *service);
