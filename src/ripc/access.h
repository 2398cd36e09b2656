#pragma once
/* access: reading and writing memory that a peer has granted us (ripc/grant.h is
 * its owner's side). What the owner showed us is remembered with the peer. */

#include "ripc/remote.h"

/* What the lifeline brings. */
void grant_answered(struct peer *peer, struct control_words *words);
void grant_revoked_by_peer(struct peer *peer, struct control_words *words);

/* The peer died: what it gave is void. */
void access_forget(struct peer *peer);
