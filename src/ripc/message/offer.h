#pragma once
/* offer: return buffers. We offer memory with a message, and the receiver may
 * write its long reply there; and the other way round. An offer is used once,
 * withdrawn, or forgotten when the process it was made to dies. */

#include "ripc/core/remote.h"
#include "ripc/message/arrival.h"
#include "ripc/message/message.h"

/* Memory of ours that one peer may write to. */
struct offer {
    uint64_t number; /* random: nobody else fills it by guessing */
    struct ripc_service *service;
    struct peer *peer; /* whom it was made to, ... */
    uint64_t context;  /* ... and in which process: two may be connected twice */
    ripc_id to;
    void *base;
    size_t size;
    bool allocated; /* by us: NULL was given */
    bool settled;   /* the peer answered a withdrawal ... */
    int status;     /* ... with this */
};

/* A return buffer of the remote's, for our next long items to it. */
struct their_offer {
    struct list node;
    struct peer *peer; /* whose link reaches it */
    unsigned transport;
    struct message_offer offer;
};

/* Makes `count` offers to an open remote and describes them. On failure none
 * is left. */
int offers_make(struct remote *remote, const struct iovec *returns, unsigned count,
                struct message_offer *out);

/* The first `count` offers of the message that could not be sent after all. */
void offers_unmake(struct ripc_service *service, const struct message_offer *offers,
                   unsigned count);

/* An item was written into our offer, says the peer. -ESTALE: that is on offer
 * no more; -EPROTO if it cannot be. */
int offer_take(struct ripc_service *service, const struct peer *peer,
               const struct message_item *item, struct ripc_item *out);

/* The message with those items is dropped: what was written into our offers is
 * nobody's, and the memory free. */
void offers_return(struct ripc_service *service, const struct peer *peer,
                   const struct message_table *table, unsigned count);

/* All offers to that peer: it died, and all that it sent has been taken. */
void offers_forget(struct peer *peer);
void offers_drop(struct ripc_service *service);

/* The peer's offers that came with a message. Without memory they are not
 * kept: then replies are pulled. */
void their_offers_keep(struct ripc_service *service, const struct arrival *arrival,
                       const struct message_offer *offers, unsigned count);

/* The first that holds the size, taken out; NULL if there is none. The remote is
 * open. The peer outlives it. It is freed when it was used, or put back. */
struct their_offer *their_offer_take(struct remote *remote, uint64_t size);
void their_offer_free(struct their_offer *theirs);
void their_offer_put_back(struct remote *remote, struct their_offer *theirs);
void their_offers_forget(struct peer *peer); /* it died */
void their_offers_drop(struct remote *remote);

/* CONTROL_WITHDRAW and its answer. */
void their_offer_withdraw(struct peer *peer, struct control_words *words);
void offer_withdrawn(struct peer *peer, struct control_words *words);
