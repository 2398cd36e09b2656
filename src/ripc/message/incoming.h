#pragma once
/* incoming: a received message with long items, until each of them is settled:
 * copied into a window or other memory, found in a return buffer, rejected, or
 * lost. Then its sender gets one acknowledgement, and has its memory back. */

#include "ripc/message/arrival.h"
#include "ripc/message/message.h"

enum item_state {
    ITEM_PENDING, /* no memory to go to yet */
    ITEM_MOVING,  /* a transfer is under way */
    ITEM_ASKED,   /* the peer was asked for a copy that we can read */
    ITEM_SETTLED,
};

struct incoming_item {
    struct incoming *incoming;
    enum item_state state;
    int status; /* once settled */
    struct remote_memory memory;
    struct transfer transfer;
    struct region *region; /* made for this transfer only, or NULL */
    void *to;
    size_t window_size; /* of the window taken for it; 0: it was fetched */
    struct windows *windows;
};

struct incoming {
    struct list node; /* in arrival->incomings */
    struct arrival *arrival;
    uint64_t token; /* 0: nobody wants an acknowledgement */
    unsigned count;
    unsigned unsettled;
    unsigned moving; /* transfers, and requests for a copy */
    int status;      /* of the message: the first failure */
    bool delivered;  /* the program has it */
    bool released;   /* the program let go: free it when nothing moves */
    struct ripc_item *items;
    struct incoming_item *details;
};

/* Begins to fetch everything that has somewhere to go. NULL without memory;
 * -EPROTO is told by the arrival's peer being condemned. */
struct incoming *incoming_new(struct arrival *arrival, const struct message_head *head,
                              const struct message_table *table);

/* Is everything settled or pending, so that the program can have it? */
static inline bool incoming_is_ready(const struct incoming *incoming)
{
    return incoming->moving == 0;
}

/* Settles pending items with a status: rejected, canceled, or the peer died. */
void incoming_refuse(struct incoming *incoming, int status);

/* The program released the message. Frees it, perhaps later. */
void incoming_release(struct incoming *incoming);

/* The answer to CONTROL_COPY. */
void incoming_copied(struct peer *peer, struct control_words *words);

/* The peer died, or took everything back: nobody answers. Of a peer that died,
 * what it had can still be copied where it is mapped. May free it. */
void incoming_break_off(struct incoming *incoming, int status);
