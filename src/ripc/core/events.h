#pragma once
/* events: what happens to peers, pipes, services and names, told to the modules that keep
 * something of their own with them.
 *
 * Modules below emit; modules above register, in the one table of ripc/events.c, which the
 * context points to. So core calls no module above it, and the table shows who hears of what
 * and in which order. Events are rare: sending and receiving are direct calls.
 *
 * Each event is a list of handlers that ends in NULL. Handlers run with the context's lock
 * held, and give it up only where their own comment says so. */

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
    /* The peer said something: one handler for each kind. */
    events_control *control[CONTROL_KIND_END];

    events_peer *peer_died[EVENTS_HANDLERS_MAX];
    /* It is dead and the last message that it sent was released. May be told again. */
    events_peer *peer_drained[EVENTS_HANDLERS_MAX];
    events_peer *peer_freed[EVENTS_HANDLERS_MAX]; /* it is about to be */

    /* The service closes, and no call waits in it: what is kept with it goes. */
    events_service *service_closed[EVENTS_HANDLERS_MAX];
    /* Asked: how much of what it sent or acknowledged may not have arrived? */
    events_owes *service_owes[EVENTS_HANDLERS_MAX];

    /* Told to every service, but for the first: the service claimed a group's id. */
    events_announced *group_announced[EVENTS_HANDLERS_MAX];
    events_claim *name_found[EVENTS_HANDLERS_MAX];
    events_claim *name_gone[EVENTS_HANDLERS_MAX];

    /* The receiver acknowledged the operation `token`, which we may not know any more. */
    events_acknowledged *acknowledged[EVENTS_HANDLERS_MAX];
    events_lost *pipe_lost[EVENTS_HANDLERS_MAX];      /* no further acknowledgement comes */
    events_remote *remote_freed[EVENTS_HANDLERS_MAX]; /* it is about to be */
};

#define events_emit(ripc, event, ...)                                                              \
    do {                                                                                           \
        for (unsigned handler = 0; (ripc)->events->event[handler]; handler++)                      \
            (ripc)->events->event[handler](__VA_ARGS__);                                           \
    } while (0)
