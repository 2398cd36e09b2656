#pragma once
/* grant: the right of one peer to reach a piece of our memory, by name of a
 * random key, until we revoke it.
 *
 * The first use asks the owner (CONTROL_GRANT_ASK), who checks key and asker
 * and shares the memory with that process; later uses go straight to the
 * memory. Revoking tells every process that asked, and waits until it has let
 * go. Between processes of one user that is a promise of the library (they could
 * read each other's memory anyway); over a fabric the hardware's key dies, too.
 *
 * A grant of memory in an own_file (ripc/memory/own_file.h) can be void without waiting. A fabric
 * would end the connection of a holder that still writes, and with it all else that goes over it.
 * So the key stays good for a while, as the grant's *ghost*: but of what the memory was, which has
 * become nobody's. */

#include "ripc/core/remote.h"

/* What the lifeline brings. */
void grant_asked(struct peer *peer, struct control_words *words);
void grant_given_up(struct peer *peer, struct control_words *words);

/* The peer died: what it was given is void. */
void grants_forget(struct peer *peer);

/* Grants of memory in [base, base + size): how many there are, and their end, without
 * waiting for whoever holds them. */
unsigned grants_of(const struct ripc *ripc, const void *base, size_t size);
void grants_void(struct ripc *ripc, const void *base, size_t size);

/* The end of a single one. */
void grant_void(struct ripc_service *service, uint64_t key);

/* All that a service gave, and, at its end, all of the context. */
void grants_drop(struct ripc_service *service);
void grants_drop_all(struct ripc *ripc);
