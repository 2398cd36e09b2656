#pragma once
/* service: a bound name, with what comes to it and what it waits for.
 *
 * Messages come through arrivals, one for each pipe from another service.
 * Completions and other news wait in a list of events. Threads that wait do so
 * on the service's bell. */

#include "ripc/core/context.h"
#include "ripc/core/waiting.h"

struct event {
    struct list node;
    struct ripc_event event;
};

enum service_claim { CLAIM_ASKED, CLAIM_HELD, CLAIM_LOST };

struct peer;
struct remote;

/* A notification came, as the body of a frame. 0, or -EPROTO. */
typedef int service_notified(struct ripc *ripc, const uint8_t *body, size_t size);

struct ripc_service {
    struct ripc *ripc;
    ripc_id id;
    uint64_t incarnation;
    enum service_claim claim;
    int claim_status;
    struct doorbell bell;
    service_notified *notified; /* of a service of the library's own, else NULL */
    bool closing;               /* unbind waits for the threads that wait */
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

/* With the lock held; waits for the name services. Id 0 chooses a random one. Without
 * `notified` notifications to it break the protocol. */
int service_open(struct ripc *ripc, ripc_id id, service_notified *notified,
                 struct ripc_service **service);
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

/* Every wait of a service: counted, and ended by -ECANCELED when it closes. The second is for
 * callers whose own check has just failed. */
int service_wait(struct ripc_service *service, waiting_check *check, void *argument,
                 int64_t deadline);
int service_wait_longer(struct ripc_service *service, waiting_check *check, void *argument,
                        int64_t deadline);
