#pragma once
/* grant: the right of one peer to access a piece of our memory, identified by a random key, until
 * we revoke it.
 *
 * The first use asks the owner (CONTROL_GRANT_ASK). The owner checks the key and the asking
 * process, and shares the memory with that process; later uses access the memory directly. Revoking
 * notifies every process that asked, and waits until each has confirmed. Between processes of one
 * user this is only a promise of the library (they could read each other's memory anyway); over a
 * fabric the hardware's key becomes invalid too.
 *
 * A grant of memory in an own_file (ripc/memory/own_file.h) can be voided without waiting. But a
 * fabric would break the connection of a holder that still writes, and with it everything else that
 * uses this connection. So the key remains valid for a while, as the grant's *ghost*. It then
 * refers only to the old pages, which nothing else uses any more. */

#include "ripc/core/remote.h"

/* Handlers of control messages. */
void grant_asked(struct peer *peer, struct control_words *words);
void grant_given_up(struct peer *peer, struct control_words *words);

/* The peer died: grants to it are void. */
void grants_forget(struct peer *peer);

/* Grants of memory in [base, base + size): count them; void them without waiting for their
 * holders. */
unsigned grants_of(const struct ripc *ripc, const void *base, size_t size);
void grants_void(struct ripc *ripc, const void *base, size_t size);

/* Voids a single grant. */
void grant_void(struct ripc_service *service, uint64_t key);

/* Drop all grants of a service; at the end, all of the context. */
void grants_drop(struct ripc_service *service);
void grants_drop_all(struct ripc *ripc);
