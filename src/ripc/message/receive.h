#pragma once
/* receive: from the frames that came through a service's arrivals to messages of the program. */

#include "ripc/message/arrival.h"

/* Takes messages of all pipes. Returns how many. */
int arrivals_take(struct ripc_service *service, struct ripc_message *out, unsigned max);

/* Would arrivals_take find something? */
bool arrivals_wait(struct ripc_service *service);
