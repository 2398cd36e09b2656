#pragma once
/* naming: carries what contexts tell each other about names (ripc/names/exchange.c) over their
 * lifelines. */

#include "ripc/core/peer.h"

/* Handlers of peers that come and go, and of CONTROL_NAME. */
void naming_peer_up(struct peer *peer);
void naming_peer_died(struct peer *peer);
void naming_heard(struct peer *peer, struct control_words *words);

/* For struct names_events. */
void naming_say(void *owner, void *peer, const struct names_saying *saying);
int naming_contact(void *owner, const struct context_address *address);
