#pragma once
/* service: a bound id, with the messages and events for it.
 *
 * Messages arrive through arrivals, one for each pipe from another service. Completions and other
 * events wait in a list. Threads that wait for the service sleep on its bell. */

#include "ripc/core/context.h"
#include "ripc/core/waiting.h"

struct event {
    struct list node;
    struct ripc_event event;
};

enum service_claim { CLAIM_ASKED, CLAIM_HELD, CLAIM_LOST };

struct peer;
struct remote;

/* Handles a notification of the peer, the body of a frame. 0, or -EPROTO. */
typedef int service_notified(struct peer *peer, const uint8_t *body, size_t size);

struct ripc_service {
    struct ripc *ripc;
    ripc_id id;
    uint64_t incarnation;
    enum service_claim claim;
    int claim_status;
    struct doorbell bell;
    service_notified *notified; /* for a service that the library itself uses, else NULL */
    bool closing;               /* unbind waits until no thread waits in the service */
    bool retiring;              /* senders hold; what they have sent is still received */
    bool moves;                 /* retiring, to be bound again: senders wait for that */
    bool polled;                /* the program has called ripc_poll */
    uint32_t waiters;
    struct list arrivals; /* in the order in which they are polled */
    unsigned arrival_count;
    struct id_map remotes;
    size_t remotes_left;        /* number of remotes after the last sweep */
    struct remote *remote_last; /* the remote sent to last: a shortcut for conversations */
    struct id_map operations;
    int64_t operation_last;
    struct list events;
    unsigned news_count; /* events in the list that are not completions */
    unsigned loss_count; /* of these, RIPC_LOST */
    struct windows windows;
    struct id_map offers; /* return buffers of ours that peers may still fill, by number */
    struct id_map groups; /* groups of which it is a member or to which it sends */
    struct id_map watches;
    uint32_t starved; /* remotes for which a send found no credit */
    int loop_fd;      /* for event loops of a context without a keeper; -1 until requested */
};

/* Called with the lock held; waits for the name services. Id 0 chooses a random id. If `notified`
 * is NULL, notifications to the service break the protocol. */
int service_open(struct ripc *ripc, ripc_id id, service_notified *notified,
                 struct ripc_service **service);
void service_close(struct ripc_service *service); /* with the lock held; waits for waiters */

/* Waits until everything that the service (NULL: any service of the context) has sent and
 * acknowledged has reached its peers, or these are dead. Waits as long as there is progress, but no
 * longer than the deadline. -ETIMEDOUT: something may not have arrived. Called with the lock held;
 * releases it while waiting. */
int service_drain(struct ripc *ripc, struct ripc_service *service, int64_t deadline);

/* Appends an event to the list and rings the bell. Returns false if the event is lost because
 * memory is short or the program takes no events. Completions are never lost: their memory is
 * allocated with the operation. */
bool service_tell(struct ripc_service *service, const struct ripc_event *event);

/* True if there are events that the program has to be woken for. A program that has never called
 * ripc_poll does not expect RIPC_LOST, and would be woken again and again. */
bool service_has_events(const struct ripc_service *service);

/* Handlers for the answers of the name services about ids that a service binds, joins or
 * watches. */
extern const struct names_events service_names_events;

/* Does the service still hold its id? A holder that was too slow to object may have taken the id
 * back. Takes the lock. */
bool service_holds(struct ripc_service *service);

/* All waits of a service: counted, and ended with -ECANCELED when the service closes. The second
 * function is for callers whose own check has just failed. */
int service_wait(struct ripc_service *service, waiting_check *check, void *argument,
                 int64_t deadline);
int service_wait_longer(struct ripc_service *service, waiting_check *check, void *argument,
                        int64_t deadline);
/* The same, without a deadline; a signal ends it with -EINTR. Not in a RIPC_MANUAL context. */
int service_wait_interruptibly(struct ripc_service *service, waiting_check *check, void *argument,
                               const struct waiting_signals *signals);
