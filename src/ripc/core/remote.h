#pragma once
/* remote: another service as one of ours sees it: from its name to a pipe.
 *
 *   RESTING --ask--> RESOLVING --claim--> CONNECTING --lifeline up--> OPEN
 *      ^                                                               |
 *      +------------- the peer died, refused, or unbound it -----------+
 *
 * A send moves it along as far as it goes at once; the keeper's events ring
 * the service's bell, and the waiting send moves it on. From OPEN it falls back
 * to RESTING by itself, so that the next send asks for the name again: that is
 * how a service that restarted or moved is found. */

#include "ripc/core/peer.h"
#include "ripc/core/service.h"

enum remote_state { REMOTE_RESTING, REMOTE_RESOLVING, REMOTE_CONNECTING, REMOTE_OPEN };

struct remote {
    struct ripc_service *service;
    ripc_id id;
    enum remote_state state;
    struct claim claim;   /* whom we connect to */
    struct claim refused; /* one whose process did not know the service, until ... */
    nsec refused_until;
    struct peer *peer; /* from CONNECTING on */
    struct list peer_node;
    unsigned transport; /* the way taken, and while trying the next to try */
    struct transport_link *link;
    struct outlet *outlet;
    uint64_t pipe;
    bool answered;        /* the receiver took the pipe */
    bool starved;         /* a send got -EAGAIN: tell when there is room */
    uint32_t starved_for; /* bytes */
    uint32_t users;       /* calls that wait and go on with it; keeps it */
    nsec used_at;         /* when it was last not open: those not used for long are forgotten */
    nsec resolves_from;   /* since when it is asked for */
    nsec asked_at;
    nsec ask_until;
    unsigned failures;   /* ways that failed since the last success */
    int failure;         /* the last of them */
    struct list flights; /* struct flight: operations that wait for its acknowledgement */
    struct list offers;  /* struct their_offer */
};

/* An old acquaintance or a new one. Those that nobody has sent to for a while may
 * be freed meanwhile, if they are neither open nor used. */
int remote_get(struct ripc_service *service, ripc_id id, struct remote **remote);

/* Moves it along. 0: frames can be pushed. -EAGAIN: under way, the bell rings.
 * Else why there is no way. */
int remote_advance(struct remote *remote);

/* The pipe is gone: acknowledgements that came are taken, the other operations
 * fail with `reason`, and the next send begins anew. */
void remote_lost(struct remote *remote, int reason);
void remotes_lost(struct peer *peer); /* all of a peer that died */

/* The peer's answer to CONTROL_OPEN, and its CONTROL_GONE. */
struct remote *remote_of_pipe(struct peer *peer, uint64_t pipe); /* NULL if there is none */
void remote_answer(struct peer *peer, struct control_words *words);
void remote_gone(struct peer *peer, struct control_words *words);

/* Takes acknowledgements of all remotes; tells of credit where it was missed. */
void remotes_collect(struct ripc_service *service);

/* How much of what was sent to them may not have arrived: frames, and bytes of the lifelines on
 * which their pipes are opened. */
size_t remotes_owe(struct ripc_service *service);

void remotes_free(struct ripc_service *service);
