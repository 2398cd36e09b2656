#pragma once
/* arrival: the receiving end of a pipe, from the peer's offer until the last message that came
 * through it is released.
 *
 * Frames are pulled in bursts and taken one by one (ripc/message/receive.h). A frame whose long
 * items are still on their way holds up the frames behind it, so that messages of one sender stay
 * in order. */

#include "ripc/core/peer.h"
#include "ripc/core/service.h"

#define ARRIVAL_BURST 16

struct incoming;

struct arrival {
    struct list service_node;
    struct list peer_node;
    struct ripc_service *service;
    struct peer *peer;
    struct inlet *inlet;
    unsigned transport;
    ripc_id from;
    uint64_t pipe; /* number that the sender gave it */
    bool ended;    /* nothing new will come: the rest is received, then it closes */
    bool closed;   /* closed by its sender, which still lives: items that were not copied are no
                    * longer valid */
    unsigned busy; /* threads that copy items from it and have released the lock meanwhile */
    uint32_t held; /* messages that were received and not released */
    unsigned next; /* frames pulled and not yet taken: frames[next .. count) */
    unsigned count;
    uint64_t pulled;           /* frames pulled in total */
    struct incoming *incoming; /* the message of frames[next] while its items arrive; or NULL */
    uint64_t token_last;       /* the last token of the frames seen */
    struct id_map canceled;    /* tokens of frames not yet seen whose operations the sender has
                                * cancelled */
    struct id_map withdrawn;   /* numbers of return buffers, offered in frames not yet taken, that
                                * the sender has withdrawn */
    struct id_map refused;     /* numbers of return buffers that we do not keep, and could not tell
                                * the sender so */
    struct list incomings;     /* received messages with items that are not settled */
    bool counted;              /* the sender holds, and has told ... */
    uint64_t expected;         /* ... how many frames it has sent in total */
    uint32_t acknowledged;     /* acknowledgements made; wraps */
    struct frame frames[ARRIVAL_BURST];
};

/* Handles a peer's request for a pipe to the service `words->to`. The peer gets -ECONNREFUSED if it
 * has too many. */
void arrival_open(struct peer *peer, struct control_words *words);

/* Returns the arrival to which its sender gave the number `pipe`; NULL if there is none. */
struct arrival *arrival_of_pipe(struct peer *peer, uint64_t pipe);

/* Pulls frames; all that were pulled before must have been taken. Returns how many there are now,
 * or the transport's error. */
static inline int arrival_pull(struct arrival *arrival)
{
    int count = arrival->inlet->ops->pull(arrival->inlet, arrival->frames, ARRIVAL_BURST);
    arrival->next = 0;
    arrival->count = count > 0 ? (unsigned)count : 0;
    arrival->pulled += arrival->count;
    return count;
}

/* Returns the number of frames that the program has got, or that were dropped as invalid or
 * cancelled. */
static inline uint64_t arrival_taken(const struct arrival *arrival)
{
    return arrival->pulled - (arrival->count - arrival->next);
}

/* Tells the sender that we are done with the items of an operation. */
static inline void arrival_acknowledge(struct arrival *arrival, uint64_t token, int64_t status)
{
    /* Fails if the peer is dead, or without memory; then the operation ends with the pipe. */
    if (arrival->inlet->ops->acknowledge(arrival->inlet, token, status) == 0)
        arrival->acknowledged++;
}

/* Closes the arrival if it has ended, is empty, and no message from it is held. */
void arrival_settle(struct arrival *arrival);
void arrival_close(struct arrival *arrival);

/* Returns how many acknowledgements may not have arrived. */
size_t arrivals_owe(struct ripc_service *service);
