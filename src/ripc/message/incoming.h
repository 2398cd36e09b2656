#pragma once
/* incoming: a received message with long items, until each item is settled: copied into a window or
 * other memory, found in a return buffer, rejected, or lost. Then the sender gets one
 * acknowledgement and may reuse its memory. */

#include "ripc/message/arrival.h"
#include "ripc/message/message.h"

enum item_state {
    ITEM_PENDING, /* has no memory to go to yet */
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
    struct region *region; /* opened for this transfer only, or NULL */
    void *to;
    size_t window_size; /* of the window used for it; 0: it was fetched */
    struct windows *windows;
};

struct incoming {
    struct list node; /* in arrival->incomings */
    struct arrival *arrival;
    uint64_t token; /* 0: the sender expects no acknowledgement */
    unsigned count;
    unsigned unsettled;
    unsigned moving; /* transfers, and requests for a copy */
    int status;      /* of the message: the first failure */
    bool delivered;  /* the program has the message */
    bool released;   /* the program has released the message: free it when nothing moves */
    struct ripc_item *items;
    struct incoming_item *details;
};

/* Starts to bring all items for which there is memory. NULL if out of memory; a malformed message
 * condemns the arrival's peer. */
struct incoming *incoming_new(struct arrival *arrival, const struct message_head *head,
                              const struct message_table *table);

/* True if every item is settled or pending, so that the message can be delivered. */
static inline bool incoming_is_ready(const struct incoming *incoming)
{
    return incoming->moving == 0;
}

/* Settles pending items with a status: rejected, cancelled, or peer dead. */
void incoming_refuse(struct incoming *incoming, int status);

/* The program released the message. Frees it, perhaps later. */
void incoming_release(struct incoming *incoming);

/* Handles the answer to CONTROL_COPY. */
void incoming_copied(struct peer *peer, struct control_words *words);

/* The peer died or closed the pipe, so requests for copies will not be answered. Items of a dead
 * peer can still be copied where its memory is mapped. May free `incoming`. */
void incoming_break_off(struct incoming *incoming, int status);
