#pragma once
/* access: reading and writing memory that a peer has granted us (ripc/memory/grant.h is the owner's
 * side). The owner's answer is kept with the peer. */

#include <stdatomic.h>

#include "ripc/core/remote.h"

/* A grant that a peer gave us. */
struct taken {
    uint64_t key;
    bool answered;
    bool revoked; /* the owner waits for us to confirm */
    /* The grant was revoked, or its owner died. Written once, under the context's lock; read by any
     * thread without it. Relaxed, because it only tells the reader to stop; it carries no other
     * data. */
    _Atomic bool lost;
    uint32_t uses; /* by taken_get */
    int status;
    uint32_t rights;
    unsigned transport;
    struct remote_memory memory;
};

/* Waits for a connection to the grant's owner and for its answer; called with the lock held. The
 * peer and the answer remain valid until taken_put, even if the peer's process dies. */
int taken_get(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline,
              struct peer **peer, struct taken **taken);
void taken_put(struct peer *peer, struct taken *taken);

/* Handlers of control messages. */
void grant_answered(struct peer *peer, struct control_words *words);
void grant_revoked_by_peer(struct peer *peer, struct control_words *words);

/* The peer died: its grants are void. */
void access_forget(struct peer *peer);
