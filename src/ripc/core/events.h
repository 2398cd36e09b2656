#pragma once
/* events: what happens to peers, pipes, services and names, for the modules that keep state of
 * their own about these.
 *
 * Lower modules emit events. Higher modules register handlers in the table of ripc/events.c, to
 * which the context points. So core calls no module above it, and the table shows all handlers and
 * their order. Events are rare: sending and receiving are direct calls.
 *
 * Each event has a list of handlers that ends with NULL. Handlers run with the context's lock held;
 * a handler that releases the lock says so in its comment. */

#include "ripc/core/control.h"
#include "ripc/names/names.h"

struct peer;
struct remote;
struct ripc_service;

#define EVENTS_HANDLERS_MAX 8

typedef void events_control(struct peer *peer, struct control_words *words);
typedef void events_peer(struct peer *peer);
typedef void events_service(struct ripc_service *service);
typedef size_t events_owes(struct ripc_service *service);
typedef void events_announced(struct ripc_service *service, uint64_t id, int status);
typedef void events_claim(struct ripc_service *service, const struct claim *claim);
typedef void events_acknowledged(struct remote *remote, uint64_t token, int status);
typedef void events_lost(struct remote *remote, int reason);
typedef void events_remote(struct remote *remote);

struct events {
    /* The peer sent a control message: one handler for each kind. */
    events_control *control[CONTROL_KIND_END];

    events_peer *peer_up[EVENTS_HANDLERS_MAX];
    events_peer *peer_died[EVENTS_HANDLERS_MAX];
    /* The peer is dead and the last message from it was released. May be emitted again. */
    events_peer *peer_drained[EVENTS_HANDLERS_MAX];
    events_peer *peer_freed[EVENTS_HANDLERS_MAX]; /* before the peer is freed */

    /* The service closes and no call waits in it: release what belongs to it. */
    events_service *service_closed[EVENTS_HANDLERS_MAX];
    /* Returns how much of what the service sent or acknowledged may not have arrived. */
    events_owes *service_owes[EVENTS_HANDLERS_MAX];

    /* group_announced: the service has claimed the id of a group. The other two are emitted for
     * every service. */
    events_announced *group_announced[EVENTS_HANDLERS_MAX];
    events_claim *name_found[EVENTS_HANDLERS_MAX];
    events_claim *name_gone[EVENTS_HANDLERS_MAX];

    /* The receiver acknowledged the operation `token`, which may no longer exist here. */
    events_acknowledged *acknowledged[EVENTS_HANDLERS_MAX];
    events_lost *pipe_lost[EVENTS_HANDLERS_MAX];      /* no further acknowledgement comes */
    events_remote *remote_freed[EVENTS_HANDLERS_MAX]; /* before the remote is freed */
};

#define events_emit(ripc, event, ...)                                                              \
    do {                                                                                           \
        for (unsigned handler = 0; (ripc)->events->event[handler]; handler++)                      \
            (ripc)->events->event[handler](__VA_ARGS__);                                           \
    } while (0)
