#pragma once
/* watch: ids whose changes a service wants to be notified of. */

#include "ripc/core/service.h"

void watch_found(struct ripc_service *service, const struct claim *claim);
void watch_gone(struct ripc_service *service, const struct claim *claim);

/* Returns the state of a watched id, as of its last event or later: the incarnation of the newest
 * binding seen (0: none yet), and whether that binding is alive. -ENOENT: the id is not watched.
 * Called without the lock. */
MUST_CHECK int watch_state(struct ripc_service *service, ripc_id id, uint64_t *incarnation,
                           bool *is_up);

void watches_drop(struct ripc_service *service);
