/* receive: what a program takes from its service: messages, events, outcomes. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bytes.h"
#include "ripc/message/operation.h"

struct receiving {
    struct ripc_service *service;
    struct ripc_message *messages;
    struct ripc_event *events;
    unsigned max;
};

static int receive_look(void *argument)
{
    const struct receiving *receiving = argument;
    return arrivals_take(receiving->service, receiving->messages, receiving->max);
}

int ripc_receive(struct ripc_service *service, struct ripc_message *messages, unsigned max,
                 int64_t deadline)
{
    if (max == 0)
        return -EINVAL;
    struct receiving receiving = {.service = service, .messages = messages, .max = max};
    lock_take(&service->ripc->lock);
    int result = service_wait(service, receive_look, &receiving, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

/* The sizes lie before the items, in memory that the sender could still write
 * to: they are checked at every use. */
const void *ripc_short(const struct ripc_message *message, unsigned index, size_t *size)
{
    if (index >= message->short_count || !message->internal[0])
        return NULL;
    if (message->short_count == 1) {
        *size = message->size;
        return message->data;
    }
    struct reader sizes = reader_make(message->internal[1], 2u * message->short_count);
    size_t offset = 0;
    for (unsigned i = 0; i < index; i++)
        offset += read_u16(&sizes);
    *size = read_u16(&sizes);
    if (offset > message->size || *size > message->size - offset)
        return NULL;
    return (const uint8_t *)message->data + offset;
}

/* ---- events ---- */

static int poll_look(void *argument)
{
    const struct receiving *receiving = argument;
    struct ripc_service *service = receiving->service;
    unsigned taken = 0;
    remotes_collect(service);
    while (taken < receiving->max) {
        struct list *node = list_take(&service->events);
        if (!node)
            break;
        struct event *event = container_of(node, struct event, node);
        receiving->events[taken++] = event->event;
        if (event->event.kind == RIPC_DONE)
            operation_free(container_of(event, struct operation, event));
        else {
            service->news_count--;
            free(event);
        }
    }
    return (int)taken;
}

int ripc_poll(struct ripc_service *service, struct ripc_event *events, unsigned max,
              int64_t deadline)
{
    if (max == 0)
        return -EINVAL;
    struct receiving receiving = {.service = service, .events = events, .max = max};
    lock_take(&service->ripc->lock);
    int result = service_wait(service, poll_look, &receiving, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

struct awaiting {
    struct ripc_service *service;
    _Atomic bool *woken;
};

static int await_look(void *argument)
{
    const struct awaiting *awaiting = argument;
    struct ripc_service *service = awaiting->service;
    remotes_collect(service);
    if (atomic_exchange_explicit(awaiting->woken, false, memory_order_relaxed))
        return SERVICE_WOKEN;
    return !list_is_empty(&service->events) || arrivals_wait(service);
}

int service_await(struct ripc_service *service, _Atomic bool *woken, int64_t deadline)
{
    struct awaiting awaiting = {service, woken};
    lock_take(&service->ripc->lock);
    int result = service_wait(service, await_look, &awaiting, deadline);
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

/* Another thread may take the outcome as an event meanwhile: then it is known
 * by its absence. */
static int outcome_look(void *argument)
{
    const struct outcome *outcome = argument;
    remotes_collect(outcome->service);
    const struct operation *operation = id_map_get(&outcome->service->operations, outcome->number);
    return !operation || operation->complete;
}

/* Waits for the outcome. If the wait ends first, it becomes an event after all. */
static int operation_wait(struct operation *operation, int64_t deadline)
{
    struct ripc_service *service = operation->service;
    struct outcome outcome = {service, (uint64_t)operation->number};
    if (operation->wanted)
        return -EBUSY;
    operation->wanted = true;
    list_remove(&operation->event.node); /* it may have completed before */
    int result = service_wait(service, outcome_look, &outcome, deadline);
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
    lock_take(&service->ripc->lock);
    struct operation *operation = id_map_get(&service->operations, (uint64_t)number);
    int result = operation ? operation_wait(operation, deadline) : -EINVAL;
    lock_drop(&service->ripc->lock);
    return result;
}

/* Tells the receivers that have not acknowledged it. */
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
    result = service_wait(service, outcome_look, &outcome, deadline);
    if (result != 1)
        return result;
    operation = id_map_get(&service->operations, number);
    if (!operation)
        return 0; /* another thread has its outcome */
    return operation->event.event.status == -ECANCELED ? 0 : -EALREADY;
}

int ripc_cancel(struct ripc_service *service, int64_t number, int64_t deadline)
{
    lock_take(&service->ripc->lock);
    int result = operation_cancel(service, (uint64_t)number, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

/* ---- event loops ---- */

static int loop_fd_add(int loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int loop_fd_open(const struct ripc_service *service)
{
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0)
        return -errno;
    int result = loop_fd_add(loop, service->bell.event_fd);
    if (result == 0)
        result = loop_fd_add(loop, poller_fd(service->ripc->poller));
    if (result == 0)
        return loop;
    close(loop);
    return result;
}

int ripc_fd(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    if (!ripc->manual)
        return service->bell.event_fd;
    lock_take(&ripc->lock);
    if (service->loop_fd < 0)
        service->loop_fd = loop_fd_open(service);
    int result = service->loop_fd;
    lock_drop(&ripc->lock);
    return result;
}

int ripc_arm(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    if (ripc->manual)
        ripc_progress(ripc);
    lock_take(&ripc->lock);
    waiting_progress(ripc);
    doorbell_clear(&service->bell);
    doorbell_prepare(&service->bell, DOORBELL_FD);
    waiting_arm(ripc);
    remotes_collect(service);
    int result = !list_is_empty(&service->events) || arrivals_wait(service) ? -EAGAIN : 0;
    if (result)
        doorbell_cancel(&service->bell);
    lock_drop(&ripc->lock);
    return result;
}
