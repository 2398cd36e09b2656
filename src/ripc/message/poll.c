#include "ripc/message/poll.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "ripc/message/operation.h"
#include "ripc/message/receive.h"

/* ---- events ---- */

struct polling {
    struct ripc_service *service;
    struct ripc_event *events;
    unsigned max;
};

/* Tells the program where the lost messages are: before those that it has sent since. */
static void loss_taken(struct ripc_service *service, struct ripc_event *event)
{
    struct remote *remote = id_map_get(&service->remotes, event->id);
    assert(remote && remote->reports > 0); /* it is not freed before */
    event->since = remote_sent(remote) - event->since;
    remote->reports--;
    service->loss_count--;
}

static int poll_check(void *argument)
{
    const struct polling *polling = argument;
    struct ripc_service *service = polling->service;
    unsigned taken = 0;
    remotes_collect(service);
    while (taken < polling->max) {
        struct list *node = list_take(&service->events);
        if (!node)
            break;
        struct event *event = container_of(node, struct event, node);
        polling->events[taken++] = event->event;
        if (event->event.kind == RIPC_DONE)
            operation_free(container_of(event, struct operation, event));
        else {
            if (event->event.kind == RIPC_LOST)
                loss_taken(service, &polling->events[taken - 1]);
            service->news_count--;
            free(event);
        }
    }
    return (int)taken;
}

int ripc_poll(struct ripc_service *service, struct ripc_event *events, unsigned max,
              int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    if (max == 0)
        return -EINVAL;
    struct polling polling = {.service = service, .events = events, .max = max};
    lock_take(&service->ripc->lock);
    service->polled = true;
    int result = service_wait(service, poll_check, &polling, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

struct awaiting {
    struct ripc_service *service;
    _Atomic bool *woken;
};

static int await_check(void *argument)
{
    const struct awaiting *awaiting = argument;
    struct ripc_service *service = awaiting->service;
    remotes_collect(service);
    if (atomic_exchange_explicit(awaiting->woken, false, memory_order_relaxed))
        return SERVICE_WOKEN;
    return service_has_events(service) || arrivals_wait(service);
}

int service_await(struct ripc_service *service, _Atomic bool *woken, int64_t deadline)
{
    struct awaiting awaiting = {service, woken};
    lock_take(&service->ripc->lock);
    int result = service_wait(service, await_check, &awaiting, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

void service_wake(struct ripc_service *service, _Atomic bool *woken)
{
    lock_take(&service->ripc->lock);
    atomic_store_explicit(woken, true, memory_order_relaxed);
    doorbell_ring(&service->bell);
    lock_drop(&service->ripc->lock);
}

struct outcome {
    struct ripc_service *service;
    uint64_t number;
};

/* True once the outcome is known. Another thread may take it as an event meanwhile; then the
 * operation no longer exists. */
static int outcome_check(void *argument)
{
    const struct outcome *outcome = argument;
    remotes_collect(outcome->service);
    const struct operation *operation = id_map_get(&outcome->service->operations, outcome->number);
    return !operation || operation->complete;
}

/* Waits for the outcome. If the wait ends first, the outcome will be reported as an event. */
static int operation_wait(struct operation *operation, int64_t deadline)
{
    struct ripc_service *service = operation->service;
    struct outcome outcome = {service, (uint64_t)operation->number};
    if (operation->wanted)
        return -EBUSY;
    operation->wanted = true;
    list_remove(&operation->event.node); /* the operation may have completed before */
    int result = service_wait(service, outcome_check, &outcome, deadline);
    operation->wanted = false;
    if (operation->complete && result != 1) {
        list_append(&service->events, &operation->event.node);
        return result;
    }
    if (result == 1) {
        result = operation->event.event.status;
        operation_free(operation);
    }
    return result;
}

int ripc_wait(struct ripc_service *service, int64_t number, int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    struct operation *operation = id_map_get(&service->operations, (uint64_t)number);
    int result = operation ? operation_wait(operation, deadline) : -EINVAL;
    lock_drop(&service->ripc->lock);
    return result;
}

/* Sends the cancellation to the receivers that have not acknowledged the operation. */
static int operation_ask_back(const struct operation *operation)
{
    for (unsigned i = 0; i < operation->flight_count; i++) {
        struct remote *remote = operation->flights[i].remote;
        if (!remote || list_is_empty(&operation->flights[i].node))
            continue;
        int result =
            peer_say(remote->peer, &(struct control_words){.kind = CONTROL_CANCEL,
                                                           .pipe = remote->pipe,
                                                           .number = (uint64_t)operation->number});
        if (result && result != -EPIPE)
            return result;
    }
    return 0;
}

static int operation_cancel(struct ripc_service *service, uint64_t number, int64_t deadline)
{
    struct outcome outcome = {service, number};
    struct operation *operation = id_map_get(&service->operations, number);
    if (!operation)
        return -EINVAL;
    remotes_collect(service);
    if (operation->complete)
        return -EALREADY;
    int result = operation_ask_back(operation);
    if (result)
        return result;
    result = service_wait(service, outcome_check, &outcome, deadline);
    if (result != 1)
        return result;
    operation = id_map_get(&service->operations, number);
    if (!operation)
        return 0; /* another thread has taken the outcome */
    return operation->event.event.status == -ECANCELED ? 0 : -EALREADY;
}

int ripc_cancel(struct ripc_service *service, int64_t number, int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    int result = operation_cancel(service, (uint64_t)number, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}
