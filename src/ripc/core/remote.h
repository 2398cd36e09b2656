#pragma once
/* remote: another service as seen by one of ours, from its name to a pipe.
 *
 *   RESTING --ask--> RESOLVING --claim--> CONNECTING --lifeline up--> OFFERED --answer--> OPEN
 *      ^                                                                                   |
 *      |                                                               HELD <--retires-----+
 *      |                                                                |                  |
 *      +-------------- the peer died, refused, or unbound it -----------+------------------+
 *
 * In OFFERED, sends wait for the answer: a process that no longer has the service refuses the pipe,
 * and messages in the pipe would be lost. A pipe to a peer that sends to us is OPEN at once,
 * because the message is probably a reply, and a hung client must not block its server.
 *
 * In HELD, the receiver retires: it takes what is in the pipe, and sends wait. If it moves (and
 * does not only leave), sends also wait from the loss of the pipe until the id is bound again. The
 * pipe also stays in HELD for a moment if acknowledgements are still on their way when the receiver
 * is gone: between hosts they may take longer than the message about that.
 *
 * A send advances the state as far as it can without waiting. If the send has to wait, events that
 * the keeper handles ring the service's bell, and the send continues. When the pipe is lost, the
 * state returns to RESTING, so that the next send asks for the name again: that is how a service
 * that restarted or moved is found.
 *
 * A send that does not wait (RIPC_NOW) gets -EAGAIN at first, and RIPC_CREDIT when it is worth
 * trying again. If the attempt failed meanwhile, for example because no process has the name, the
 * next send gets this result, once; the send after it asks anew. */

#include "ripc/core/peer.h"
#include "ripc/core/service.h"

enum remote_state {
    REMOTE_RESTING,
    REMOTE_RESOLVING,
    REMOTE_CONNECTING,
    REMOTE_OFFERED, /* from here on there is a pipe */
    REMOTE_OPEN,
    REMOTE_HELD,
};

struct remote {
    struct ripc_service *service;
    ripc_id id;
    enum remote_state state;
    struct claim claim;   /* the claim to which we connect */
    struct claim refused; /* a claim whose process did not have the service; valid until
                           * refused_until */
    nsec refused_until;
    struct peer *peer; /* from CONNECTING on */
    struct list peer_node;
    unsigned transport; /* the transport in use; while connecting, the next to try */
    struct transport_link *link;
    struct outlet *outlet;
    uint64_t pipe;
    bool answered;        /* the receiver accepted the pipe */
    bool starved;         /* a send got -EAGAIN: report when there is room */
    uint32_t starved_for; /* bytes */
    uint32_t users;       /* waiting calls that will use the remote again; while > 0 it is not
                           * freed */
    nsec used_at;         /* when it was made, last resolved, or lost; old ones are freed */
    nsec resolves_from;   /* when resolving began */
    nsec asked_at;
    nsec ask_until;
    bool reported_absent;  /* the last attempt ended with -ENOENT: the next is a new send */
    int verdict;           /* of an attempt that a send with RIPC_NOW began and remotes_collect
                            * finished: the result of the next send; 0: none */
    nsec verdict_until;    /* after that it is too old */
    unsigned failures;     /* attempts that failed since the last success */
    int failure;           /* error of the last failed attempt */
    nsec rests_until;      /* the receiver lacked descriptors: no attempt before this ... */
    nsec rest;             /* ... and so long between the last two attempts */
    struct list flights;   /* struct flight: operations that wait for acknowledgement */
    uint32_t acknowledged; /* acknowledgements that arrived in the pipe; wraps */
    bool ending;           /* CONTROL_GONE has arrived before the last acknowledgements ... */
    uint32_t ending_at;    /* ... of which there are so many in total */
    nsec ending_until;     /* when to give up waiting for them */
    struct list offers;    /* struct their_offer */
    struct claim left;     /* while moving: the claim whose holder has retired */
    bool moving;           /* the holder announced that the id will be bound again */
    uint64_t sent_before;  /* frames pushed into earlier pipes */
    uint32_t reports;      /* RIPC_LOST events about it that the program has not taken */
};

/* Returns the remote for an id, an existing one or a new one. May free other remotes that are
 * neither open nor in use and have not been used for a while. */
int remote_get(struct ripc_service *service, ripc_id id, struct remote **remote);

static inline bool remote_has_pipe(const struct remote *remote)
{
    return remote->state >= REMOTE_OFFERED;
}

/* Returns the number of frames pushed into the remote's pipe; it has one. */
uint64_t remote_pushed(const struct remote *remote);

/* Returns the number of frames pushed for the remote in all its pipes. */
uint64_t remote_sent(const struct remote *remote);

/* Advances the state. 0: frames can be pushed. -EAGAIN: in progress, the bell rings when it is
 * worth trying again. Else the reason why there is no path. */
int remote_advance(struct remote *remote);

/* Forgets what is known about an id to which no pipe is open: the next send of the service asks the
 * name services anew, and does not get an answer to an earlier question. Takes the lock. */
void remote_ask_anew(struct ripc_service *service, ripc_id id);

/* Handles the loss of the pipe: takes acknowledgements that have arrived, fails the other
 * operations with `reason`; the next send starts again. */
void remote_lost(struct remote *remote, int reason);
void remotes_lost(struct peer *peer); /* all remotes of a peer that died */

/* Handlers of the peer's answer to CONTROL_OPEN, and of its CONTROL_RETIRE and CONTROL_GONE. */
struct remote *remote_of_pipe(struct peer *peer, uint64_t pipe); /* NULL if there is none */
void remote_answer(struct peer *peer, struct control_words *words);
void remote_hold(struct peer *peer, struct control_words *words);
void remote_gone(struct peer *peer, struct control_words *words);

/* Takes the acknowledgements of all remotes and reports credit to sends that lacked it. */
void remotes_collect(struct ripc_service *service);

/* The timer of the context for remotes that resolve: wakes the calls that wait for an answer of the
 * name services, because none may come. To be called once, when the context opens. */
MUST_CHECK int remotes_timer_open(struct ripc *ripc);

/* Returns the number of frames that may not have arrived, plus the bytes queued in the lifelines
 * that open pipes. */
size_t remotes_owe(struct ripc_service *service);

void remotes_free(struct ripc_service *service);
