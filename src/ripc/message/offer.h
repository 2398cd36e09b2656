#pragma once
/* offer: return buffers. We offer memory with a message, and the receiver may write its long reply
 * there; and vice versa. An offer is used once, withdrawn, or forgotten when the process that
 * received it dies. */

#include "ripc/core/remote.h"
#include "ripc/message/arrival.h"
#include "ripc/message/mark.h"
#include "ripc/message/message.h"

/* Memory of ours that one peer may write to. */
struct offer {
    uint64_t number; /* random, but other peers can read it in the marks: offer_take checks that the
                      * peer that claims to have filled it is the one that received the offer */
    struct ripc_service *service;
    struct peer *peer; /* the peer that received the offer ... */
    uint64_t context;  /* ... and its context: two contexts may have two connections */
    ripc_id to;
    void *base;
    size_t size;
    mark_word *mark;   /* decides whether the peer uses the buffer; NULL: the peer answers */
    uint64_t pipe;     /* in which it was offered ... */
    uint64_t frame;    /* ... in this frame, counted from 0 */
    bool allocated;    /* by us, because NULL was given */
    bool settled;      /* the peer has answered a withdrawal, or has not kept the offer ... */
    int status;        /* ... with this status; 0 is final */
    struct list waits; /* calls that withdraw it and wait for the answer: struct offer_wait */
};

/* A return buffer of the remote, for our next long items to it. */
struct their_offer {
    struct list node;
    struct peer *peer; /* the peer whose link reaches the buffer */
    unsigned transport;
    uint64_t pipe; /* the pipe through which the offer came */
    struct message_offer offer;
    struct mapping mark; /* mapped once: to map it again could handle control messages of the peer,
                          * which end this offer or its remote */
};

/* Makes `count` offers to an open remote and describes them. On failure none is made. */
int offers_make(struct remote *remote, const struct iovec *returns, unsigned count,
                struct message_offer *out);

/* Takes back the first `count` offers of a message that could not be sent. */
void offers_unmake(struct ripc_service *service, const struct message_offer *offers,
                   unsigned count);

/* Handles the peer's claim that it wrote an item into our offer. -ESTALE: the offer no longer
 * exists; -EPROTO: the claim is invalid. */
int offer_take(struct ripc_service *service, const struct peer *peer,
               const struct message_item *item, struct ripc_item *out);

/* The message with these items is dropped: releases the offers into which it was written. */
void offers_return(struct ripc_service *service, const struct peer *peer,
                   const struct message_table *table, unsigned count);

/* Drops all offers to a peer that died, after everything that it sent has been received. */
void offers_forget(struct peer *peer);
void offers_drop(struct ripc_service *service);

/* Keeps the peer's offers that came with a message, unless they were withdrawn meanwhile. If memory
 * is short or there are too many they are not kept; the peer is told so, and replies are pulled
 * instead. */
void their_offers_keep(struct ripc_service *service, struct arrival *arrival,
                       const struct message_offer *offers, unsigned count);

/* The message with these offers is dropped: tells the peer that they are not kept. */
void their_offers_refuse(struct arrival *arrival, const struct message_offer *offers,
                         unsigned count);

/* Takes out the first offer that holds the size; NULL if there is none. From now on it cannot be
 * withdrawn. The remote is open, and the peer stays valid as long as the offer. Free the offer
 * after use, give it up if nothing can be written there, which the peer is told, or put it back. */
struct their_offer *their_offer_take(struct remote *remote, uint64_t size);
void their_offer_free(struct their_offer *theirs);
void their_offer_give_up(const struct remote *remote, struct their_offer *theirs);
void their_offer_put_back(struct remote *remote, struct their_offer *theirs);
void their_offers_forget(struct peer *peer); /* the peer died */
void their_offers_drop(struct remote *remote);

/* CONTROL_WITHDRAW and its answer. */
void their_offer_withdraw(struct peer *peer, struct control_words *words);
void offer_withdrawn(struct peer *peer, struct control_words *words);
