#pragma once
/* operation: a send that is not complete when its call returns. It has a number, uses memory of the
 * sender, waits for one acknowledgement per receiver, and completes exactly once: as an event, or
 * as the result of ripc_wait. */

#include "ripc/core/remote.h"

struct flight {       /* an operation on its way to one receiver */
    struct list node; /* in remote->flights */
    struct remote *remote;
    struct operation *operation;
};

struct operation {
    struct ripc_service *service;
    int64_t number;
    unsigned waiting; /* flights without acknowledgement, plus 1 until operation_launch */
    bool complete;
    bool wanted;        /* a ripc_wait or ripc_cancel takes the outcome: no event */
    struct event event; /* its completion event, allocated in advance so that completing cannot run
                         * out of memory */
    unsigned item_count;
    struct iovec *items; /* memory in use until completion; owned */
    void **copies; /* of foreign items that a receiver cannot read; NULL where there is none */
    unsigned flight_count;  /* maximum number of receivers ... */
    unsigned flown;         /* ... and number of those that it was sent to */
    struct flight *flights; /* owned; one for each receiver */
};

/* Makes an operation with long items for at most `receivers` receivers. It cannot complete before
 * operation_launch. NULL if out of memory. */
struct operation *operation_new(struct ripc_service *service, ripc_id to, uint64_t user,
                                const struct iovec *longs, unsigned long_count, unsigned receivers);

/* The operation was sent to that remote. */
void operation_fly(struct operation *operation, struct remote *remote);

/* The operation was sent to all its receivers, at least one. It now owns the use (pool_use) of the
 * items' memory, and may complete. */
void operation_launch(struct operation *operation);

/* The operation was sent to no receiver. The use of the memory does not change. */
void operation_undo(struct operation *operation);

/* A receiver is done with the operation of that token, if it is still in flight. */
void flight_acknowledged(struct remote *remote, uint64_t token, int status);

/* The pipe to the remote is lost, with all operations in flight on it. */
void flights_lost(struct remote *remote, int reason);

/* The service closes: frees its operations, which have all completed because their pipes are
 * closed. */
void operations_drop(struct ripc_service *service);

/* A receiver on this host may not read our foreign memory (CONTROL_COPY): makes a copy that it can
 * map. */
void operation_copy(struct peer *peer, struct control_words *words);

/* Frees an operation whose outcome was taken. */
void operation_free(struct operation *operation);
