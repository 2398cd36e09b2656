#pragma once
/* service: a bound name, with what comes to it and what it waits for.
 *
 * Messages come through arrivals, one for each pipe from another service.
 * Completions and other news wait in a list of events. Threads that wait do so
 * on the service's bell. */

#include "ripc/core/context.h"
#include "ripc/core/peer.h"
#include "ripc/core/waiting.h"

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

struct event {
    struct list node;
    struct ripc_event event;
};

enum service_claim { CLAIM_ASKED, CLAIM_HELD, CLAIM_LOST };

struct ripc_service {
    struct ripc *ripc;
    ripc_id id;
    uint64_t incarnation;
    enum service_claim claim;
    int claim_status;
    struct doorbell bell;
    bool hidden;  /* the library's own */
    bool closing; /* unbind waits for the threads that wait */
    uint32_t waiters;
    struct list arrivals; /* in the order in which they are looked at */
    unsigned arrival_count;
    struct id_map remotes;
    size_t remotes_left;        /* when idle ones were last freed */
    struct remote *remote_last; /* the one sent to last: conversations have two ends */
    struct id_map operations;
    int64_t operation_last;
    struct list events;
    unsigned news_count; /* of them, those that are no completions */
    struct windows windows;
    struct id_map offers; /* return buffers of ours that peers may still fill, by number */
    struct id_map groups; /* that it is a member of */
    struct id_map watches;
    uint32_t starved; /* remotes that a send found without credit */
    int loop_fd;      /* for event loops of a context without a keeper; -1 until asked for */
};

/* With the lock held; waits for the name services. Id 0 chooses a random one. */
int service_open(struct ripc *ripc, ripc_id id, bool hidden, struct ripc_service **service);
void service_close(struct ripc_service *service); /* with the lock held; waits for waiters */

/* Waits until what the service (NULL: any of the context) has sent, and what it has acknowledged,
 * is with its peers or these are dead; as long as it gets less, and no longer than the deadline.
 * -ETIMEDOUT: some may not have arrived. With the lock held, and given up meanwhile. */
int service_drain(struct ripc *ripc, struct ripc_service *service, int64_t deadline);

/* Puts news into the list and rings the bell. False: it is lost, without memory
 * or because nobody takes any. Completions are not: they have their memory from
 * the start. */
bool service_tell(struct ripc_service *service, const struct ripc_event *event);

/* What a name service says of an id that a service has, joined or watches. */
extern const struct names_events service_names_events;

/* Every wait of a service: counted, and ended by -ECANCELED when it closes. */
int service_wait(struct ripc_service *service, waiting_look *look, void *argument,
                 int64_t deadline);

/* For layers above that take messages and events in one place: waits until one of either
 * is there (1), or somebody calls service_wake with the same flag. Else -ETIMEDOUT or
 * -EAGAIN, as every wait. Without the lock. The flag is written and read under it. */
#define SERVICE_WOKEN 2
int service_await(struct ripc_service *service, _Atomic bool *woken, int64_t deadline);
void service_wake(struct ripc_service *service, _Atomic bool *woken);

/* A peer opens a pipe to the service `words->to`, closes one, or cancels. -ECONNREFUSED: it has too
 * many.
 */
void arrival_open(struct peer *peer, struct control_words *words);
void arrival_end(struct peer *peer, uint64_t pipe);
void arrival_cancel(struct peer *peer, uint64_t pipe, uint64_t token);

/* The peer died: what came is still to be taken. */
void arrivals_orphan(struct peer *peer);

/* Closes it if it has ended, is empty, and nothing taken from it is held. */
void arrival_settle(struct arrival *arrival);
void arrival_close(struct arrival *arrival);

/* How many acknowledgements may not have arrived. */
size_t arrivals_owe(const struct ripc_service *service);

/* Takes messages of all pipes. Returns how many. */
int arrivals_take(struct ripc_service *service, struct ripc_message *out, unsigned max);

/* Would arrivals_take find something? */
bool arrivals_wait(struct ripc_service *service);
