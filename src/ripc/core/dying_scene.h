#pragma once
/* dying_scene: a peer that dies while an operation of its link runs. */

#include <errno.h>

#include "ripc/core/context.h"
#include "ripc/core/peer.h"
#include "ripc/core/waiting.h"

/* Kills the peer; called with its context's lock held. Returns the error of an
 * operation whose peer has died. */
static inline int peer_die(struct peer *peer)
{
    lifeline_cut(peer->line, -ETIMEDOUT);
    while (peer->state != PEER_DEAD)
        waiting_pause(peer->ripc);
    return -EPIPE;
}

static inline unsigned peers_dead(struct ripc *ripc)
{
    unsigned count = 0;
    lock_take(&ripc->lock);
    list_each(&ripc->peers, node) count +=
        container_of(node, struct peer, node)->state == PEER_DEAD;
    lock_drop(&ripc->lock);
    return count;
}
