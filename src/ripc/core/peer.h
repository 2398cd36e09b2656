#pragma once
/* peer: another context to which we have a lifeline, in either direction.
 *
 * A peer exists as long as its lifeline, and after that until the last message that came before its
 * death is received and released. */

#include "ripc/core/context.h"
#include "ripc/core/control.h"

enum peer_state {
    PEER_CONNECTING,
    PEER_UP,
    PEER_DEAD, /* no lifeline; messages that arrived can still be received */
};

struct peer {
    struct list node; /* in ripc->peers */
    struct ripc *ripc;
    enum peer_state state;
    struct context_address address; /* context 0 until the hello, if only an address was known */
    struct context_address dialled; /* to which we connected; family 0: the peer connected */
    struct lifeline *line;
    struct names_line *name_line; /* what names knows about the peer; NULL while it is not up */
    uint8_t card[LIFELINE_CARD_MAX];
    size_t card_size;
    struct transport_link
        *links[CONTEXT_TRANSPORT_MAX]; /* by index of our transports; opened when first used */
    struct list remotes;               /* services of the peer to which we send */
    struct id_map pipes;               /* those of them that have a pipe, by its number */
    struct list arrivals;              /* pipes from the peer */
    struct id_map arrival_map;         /* the same, by the number that the peer gave them */
    unsigned arrival_count;
    bool condemned;
    bool probe;            /* connected to find out whether the context has ended; until the first
                            * control message of the peer */
    bool ended;            /* after its death: it is certain that the context has ended */
    int reason;            /* after its death: the result for calls that wait for the peer */
    bool doubted;          /* after its death: it was never connected, but probably lives: either we
                            * lack descriptors, or its process listens but did not answer */
    unsigned offer_count;  /* return buffers of the peer that we may fill */
    struct id_map grants;  /* grants from the peer that we know, by key */
    struct id_map notices; /* notices of the peer that we notify, by token: what we know of them */
    uint64_t notice_lost;  /* token of which the peer was last told that there is no such notice */
    uint32_t users;        /* transfers and waiting calls that use the peer; while > 0 it is not
                            * freed */
};

extern const struct lifeline_events peer_events;

/* Returns the peer at an address, over an open connection or a new one. */
int peer_get(struct ripc *ripc, const struct context_address *address, struct peer **peer);

/* A claim of that context was lost: do we know from our line to the context that the binding has
 * ended? Either the context has ended; or it is on this host and connected, so it gave the claim
 * up. Of our own context we know it always. */
bool peer_is_certain(const struct ripc *ripc, uint64_t context);

/* Returns the link to the peer by that transport. -EHOSTUNREACH if the peer does not have the
 * transport. */
int peer_link(struct peer *peer, unsigned transport, struct transport_link **link);

/* Sends a control message. -EPIPE when the peer is dead. */
int peer_say(struct peer *peer, const struct control_words *words);

/* Sends an answer that the peer waits for. A peer that does not read its answers is condemned. If
 * we lack memory for the answer, or descriptors, the peer is disconnected. */
void peer_answer(struct peer *peer, const struct control_words *words);

/* Does what peer_answer does after the attempt to send the answer, which had this result. */
void peer_answered(struct peer *peer, int result);

/* Disconnects a peer that broke the protocol; counted once. */
void peer_condemn(struct peer *peer);

/* Cuts the lifelines of all peers that the transport reaches, or that no other transport reaches
 * yet: the links of the transport are broken, and what these peers know about it is no longer true.
 * Peers reached only by other transports stay connected. */
void peers_part(struct ripc *ripc, unsigned transport);

/* Lets the transports make progress until everything that the peer sent before it ended has been
 * handled. */
void peer_hear_out(struct peer *peer);

/* Frees the peer if it is dead and no longer used. */
void peer_settle(struct peer *peer);

/* Frees all peers at the end of the context, after their pipes were closed. */
void peer_free_all(struct ripc *ripc);
