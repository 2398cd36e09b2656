#pragma once
/* peer: another context that we have a lifeline to, in either direction.
 *
 * It lives as long as its lifeline, and after that until the last message that
 * came before its death was taken and released. */

#include "ripc/core/context.h"
#include "ripc/core/control.h"

enum peer_state {
    PEER_CONNECTING,
    PEER_UP,
    PEER_DEAD, /* no line; what arrived can still be taken */
};

struct peer {
    struct list node; /* in ripc->peers */
    struct ripc *ripc;
    enum peer_state state;
    struct context_address address; /* context 0 until the hello, if only an address was known */
    struct lifeline *line;
    uint8_t card[LIFELINE_CARD_MAX];
    size_t card_size;
    struct transport_link
        *links[CONTEXT_TRANSPORT_MAX]; /* by our transport; opened when first used */
    struct list remotes;               /* services of it that we send to */
    struct list arrivals;              /* pipes from it */
    unsigned arrival_count;
    bool condemned;
    int reason;           /* once it is dead: what those who wait for it are told */
    unsigned offer_count; /* return buffers of it that we may fill */
    struct id_map grants; /* of it that we know, by key */
    uint32_t users;       /* transfers under way and calls that wait for it; keeps it after death */
};

extern const struct lifeline_events peer_events;

/* The peer at an address: an open connection or a new one. */
int peer_get(struct ripc *ripc, const struct context_address *address, struct peer **peer);

/* Its link of that transport. -EHOSTUNREACH if it has none that reaches it. */
int peer_link(struct peer *peer, unsigned transport, struct transport_link **link);

/* -EPIPE when dead. */
int peer_say(struct peer *peer, const struct control_words *words);

/* Says what the peer waits for. One that asks and does not listen is condemned. */
void peer_answer(struct peer *peer, const struct control_words *words);

/* It broke the protocol: counted, once, and its lifeline cut. */
void peer_condemn(struct peer *peer);

/* Cuts the lifelines of all that the transport reaches or may come to: its links carry nothing any
 * more, and what peers know of it is no longer true. Those that are reached by others stay. */
void peers_part(struct ripc *ripc, unsigned transport);

/* Moves the transports along until all that the peer sent before its last word has been looked
 * at. */
void peer_hear_out(struct peer *peer);

/* Frees it if it is dead and nothing of it is needed any more. */
void peer_settle(struct peer *peer);

/* Frees all, at the end of the context: their pipes are closed. */
void peer_free_all(struct ripc *ripc);
