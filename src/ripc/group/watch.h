#pragma once
/* watch: ids whose changes a service wants to be notified of. */

#include "ripc/core/peer.h"
#include "ripc/core/service.h"

void watch_found(struct ripc_service *service, const struct claim *claim);
void watch_gone(struct ripc_service *service, const struct claim *claim);

/* A peer died: what was only silence until now may be certain. */
void watches_judge(struct peer *peer);

/* Returns the state of a watched id, as of its last event or later: the incarnation of the newest
 * binding seen (0: none yet), and whether that binding is alive. -ENOENT: the id is not watched.
 * Called without the lock. */
MUST_CHECK int watch_state(struct ripc_service *service, ripc_id id, uint64_t *incarnation,
                           bool *is_up);

/* The binding that was lost last: can it only not be reached, so that its process may be alive? If
 * not, the process has ended, has given the id up, or bound it again. On one host the answer comes
 * from the lock of the context's file. Called without the lock. */
bool watch_is_silent(struct ripc_service *service, ripc_id id);

void watches_drop(struct ripc_service *service);
