#pragma once
/* operation: a send that is not over when its call returns. It has a number,
 * uses memory of the sender's, waits for one acknowledgement per receiver, and
 * completes exactly once: as an event, or as the result of ripc_wait. */

#include "ripc/core/remote.h"

struct flight {       /* an operation on its way to one receiver */
    struct list node; /* in remote->flights */
    struct remote *remote;
    struct operation *operation;
};

struct operation {
    struct ripc_service *service;
    int64_t number;
    unsigned waiting; /* flights that are not back, and the sender until it has let go */
    bool complete;
    bool wanted;        /* a ripc_wait or ripc_cancel takes its outcome: no event */
    struct event event; /* its news, kept ready so that completing needs no memory */
    unsigned item_count;
    struct iovec *items; /* memory in use until it completes; owned */
    void **copies; /* of foreign items that a receiver cannot read; NULL where there is none */
    unsigned flight_count;  /* receivers at most, ... */
    unsigned flown;         /* ... and those that it went to */
    struct flight *flights; /* owned; one for each receiver */
};

/* A new operation with long items, to at most `receivers` receivers. It cannot
 * complete before operation_launch. NULL without memory. */
struct operation *operation_new(struct ripc_service *service, ripc_id to, uint64_t user,
                                const struct iovec *longs, unsigned long_count, unsigned receivers);

/* It is on its way to that remote. */
void operation_fly(struct operation *operation, struct remote *remote);

/* It went to all that it goes to, at least one: the items' memory, marked with
 * pool_use, is its own to let go. It may complete now. */
void operation_launch(struct operation *operation);

/* It went nowhere. The memory stays as it is. */
void operation_undo(struct operation *operation);

/* A receiver is done with the operation of that token, if that is still in flight. */
void flight_acknowledged(struct remote *remote, uint64_t token, int status);

/* The pipe to the remote is gone, and with it all that is in flight there. */
void flights_lost(struct remote *remote, int reason);

/* The service closes. Whatever is in flight completes, for those that look afterwards: nobody
 * does, since the service goes; but its memory is no longer in use. */
void operations_drop(struct ripc_service *service);

/* A receiver on this host may not read our foreign memory (CONTROL_COPY): it
 * gets a copy that it can map. */
void operation_copy(struct peer *peer, struct control_words *words);

/* Frees one whose outcome was taken. */
void operation_free(struct operation *operation);
