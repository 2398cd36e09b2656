#pragma once
/* access: reading and writing memory that a peer has granted us (ripc/memory/grant.h is
 * its owner's side). What the owner showed us is remembered with the peer. */

#include <stdatomic.h>

#include "ripc/core/remote.h"

/* A grant that a peer gave us. */
struct taken {
    uint64_t key;
    bool answered;
    bool revoked; /* the owner waits for us to say that we let go */
    /* Revoked, or its owner died. Written under the context's lock, once; read by any thread
     * without it. Relaxed: it says to stop, and nothing else is read by it. */
    _Atomic bool lost;
    uint32_t uses; /* by taken_get */
    int status;
    uint32_t rights;
    unsigned transport;
    struct remote_memory memory;
};

/* Waits for the way to the grant's owner and for its answer; with the lock held. The peer
 * and what it showed are there until taken_put, whatever happens to its process. */
int taken_get(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline,
              struct peer **peer, struct taken **taken);
void taken_put(struct peer *peer, struct taken *taken);

/* What the lifeline brings. */
void grant_answered(struct peer *peer, struct control_words *words);
void grant_revoked_by_peer(struct peer *peer, struct control_words *words);

/* The peer died: what it gave is void. */
void access_forget(struct peer *peer);
