#pragma once
/* arrival: the receiving end of a pipe, from the peer's offer until the last
 * message that came through it was released.
 *
 * Frames are pulled in bursts and taken one by one (ripc/message/receive.h). The
 * first whose long items are still on their way holds up those behind it: messages
 * of one sender stay in order. */

#include "ripc/core/peer.h"
#include "ripc/core/service.h"

#define ARRIVAL_BURST 16

struct incoming;

/* The receiving end of a pipe. */
struct arrival {
    struct list service_node;
    struct list peer_node;
    struct ripc_service *service;
    struct peer *peer;
    struct inlet *inlet;
    unsigned transport;
    ripc_id from;
    uint64_t pipe; /* the sender's number of it */
    bool ended;    /* nothing new will come: the rest is taken, then it closes */
    bool closed; /* by its sender, who lives: the memory of items not copied is no longer theirs */
    unsigned busy; /* threads that copy items of it and have given up the lock meanwhile */
    uint32_t held; /* messages taken and not released */
    unsigned next; /* frames pulled and not yet taken: frames[next .. count) */
    unsigned count;
    struct incoming *incoming; /* the message of frames[next], while its items come; or NULL */
    uint64_t token_last;       /* of the frames seen */
    struct id_map canceled;    /* tokens of frames not seen yet that the sender takes back */
    struct list incomings;     /* messages with items that are taken and not settled */
    struct frame frames[ARRIVAL_BURST];
};

/* A peer opens a pipe to the service `words->to`. It is told -ECONNREFUSED if it has too many. */
void arrival_open(struct peer *peer, struct control_words *words);

/* The one that its sender gave the number `pipe`; NULL if there is none. */
struct arrival *arrival_of_pipe(struct peer *peer, uint64_t pipe);

/* Pulls frames where all that were pulled have been taken. Returns how many are there, or the
 * transport's error. */
static inline int arrival_pull(struct arrival *arrival)
{
    int count = arrival->inlet->ops->pull(arrival->inlet, arrival->frames, ARRIVAL_BURST);
    arrival->next = 0;
    arrival->count = count > 0 ? (unsigned)count : 0;
    return count;
}

/* Closes it if it has ended, is empty, and nothing taken from it is held. */
void arrival_settle(struct arrival *arrival);
void arrival_close(struct arrival *arrival);

/* How many acknowledgements may not have arrived. */
size_t arrivals_owe(struct ripc_service *service);
