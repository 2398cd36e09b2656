#include "ripc/core/service.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "ripc/core/naming.h"
#include "transport/fork/descriptor.h"

/* Name services that ask the network have answered by then in all cases. */
#define CLAIM_PATIENCE_NSEC (5 * NSEC_PER_SEC)
#define DRAIN_NSEC          (2 * NSEC_PER_SEC) /* for a peer that accepts nothing */
#define NEWS_MAX            4096               /* not yet taken; limited because peers cause them */

int service_wait_longer(struct ripc_service *service, waiting_check *check, void *argument,
                        int64_t deadline)
{
    struct waiting waiting = {check, argument, &service->closing, NULL};
    service->waiters++;
    int result = waiting_longer(service->ripc, &service->bell, &waiting, deadline);
    service->waiters--;
    return result;
}

int service_wait_interruptibly(struct ripc_service *service, waiting_check *check, void *argument,
                               const struct waiting_signals *signals)
{
    struct waiting waiting = {check, argument, &service->closing, signals};
    assert(!service->ripc->manual); /* the sleep would not do the work of the keeper */
    service->waiters++;
    int result = waiting_longer(service->ripc, &service->bell, &waiting, RIPC_FOREVER);
    service->waiters--;
    return result;
}

int service_wait(struct ripc_service *service, waiting_check *check, void *argument,
                 int64_t deadline)
{
    service->waiters++;
    int result = service->closing ? -ECANCELED : check(argument);
    service->waiters--;
    return result ? result : service_wait_longer(service, check, argument, deadline);
}

bool service_tell(struct ripc_service *service, const struct ripc_event *news)
{
    struct event *event = service->news_count < NEWS_MAX ? malloc(sizeof *event) : NULL;
    if (!event)
        return false;
    event->event = *news;
    service->news_count++;
    service->loss_count += news->kind == RIPC_LOST;
    list_append(&service->events, &event->node);
    doorbell_ring(&service->bell);
    return true;
}

bool service_has_events(const struct ripc_service *service)
{
    if (list_is_empty(&service->events))
        return false;
    if (service->polled || !service->loss_count)
        return true;
    unsigned count = 0;
    list_each(&service->events, node) count++;
    return count > service->loss_count;
}

/* ---- claiming the name ---- */

static int service_claim_check(void *argument)
{
    const struct ripc_service *service = argument;
    return service->claim == CLAIM_ASKED ? 0 : 1;
}

static int service_claim(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    struct claim claim = {
        .id = service->id,
        .member = service->id,
        .incarnation = service->incarnation,
        .address = ripc->address,
        .pid = getpid(),
    };
    int result = names_announce(ripc->names, &claim);
    if (result)
        return result;
    result = service_wait(service, service_claim_check, service, clock_after(CLAIM_PATIENCE_NSEC));
    if (result == 1)
        result = service->claim_status;
    if (result == -ESTALE) /* we had the id for a moment, and gave it up to its earlier holder */
        result = -EADDRINUSE;
    if (result)
        names_withdraw(ripc->names, service->id, service->id);
    return result;
}

bool service_holds(struct ripc_service *service)
{
    lock_take(&service->ripc->lock);
    bool holds = service->claim == CLAIM_HELD;
    lock_drop(&service->ripc->lock);
    return holds;
}

static void service_on_announced(void *owner, uint64_t id, uint64_t member, int status)
{
    struct ripc *ripc = owner;
    struct ripc_service *service = id_map_get(&ripc->services, member);
    if (!service)
        return;
    if (id != member) {
        events_emit(ripc, group_announced, service, id, status);
        return;
    }
    service->claim = status ? CLAIM_LOST : CLAIM_HELD;
    service->claim_status = status;
    doorbell_ring(&service->bell);
}

static void service_on_found(void *owner, const struct claim *claim)
{
    struct ripc *ripc = owner;
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor))) {
        events_emit(ripc, name_found, service, claim);
        /* A send may be waiting for this name, or the program for RIPC_CREDIT. */
        if (service->waiters || service->starved)
            doorbell_ring(&service->bell);
    }
}

static void service_on_gone(void *owner, const struct claim *claim)
{
    struct ripc *ripc = owner;
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor))) {
        events_emit(ripc, name_gone, service, claim);
        /* A send to a group may be waiting for this member. */
        if (service->waiters)
            doorbell_ring(&service->bell);
    }
}

/* A send may be waiting for the answer, even for the answer that the id is unclaimed. */
static void service_on_answered(void *owner)
{
    struct ripc *ripc = owner;
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor)))
        if (service->waiters)
            doorbell_ring(&service->bell);
}

const struct names_events service_names_events = {
    .announced = service_on_announced,
    .found = service_on_found,
    .gone = service_on_gone,
    .answered = service_on_answered,
    .say = naming_say,
    .contact = naming_contact,
};

/* ---- opening and closing ---- */

static size_t service_owes(struct ripc_service *service)
{
    const struct events *events = service->ripc->events;
    size_t owed = 0;
    for (unsigned i = 0; events->service_owes[i]; i++)
        owed += events->service_owes[i](service);
    return owed;
}

static size_t services_owe(struct ripc *ripc)
{
    size_t cursor = 0, owed = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor)))
        owed += service_owes(service);
    return owed;
}

int service_drain(struct ripc *ripc, struct ripc_service *service, int64_t deadline)
{
    size_t least = SIZE_MAX;
    nsec until = 0;
    for (;;) {
        size_t owed = service ? service_owes(service) : services_owe(ripc);
        nsec now = clock_now();
        if (owed == 0)
            return 0;
        if (owed < least)
            until = now + DRAIN_NSEC;
        least = owed < least ? owed : least;
        if (now >= deadline || now >= until)
            return -ETIMEDOUT;
        waiting_progress(ripc);
        waiting_pause(ripc);
    }
}

static void service_free(struct ripc_service *service)
{
    id_map_take(&service->ripc->services, service->id);
    doorbell_close(&service->bell);
    if (service->loop_fd >= 0)
        descriptor_close(service->loop_fd);
    free(service);
}

static void service_dismantle(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    service->closing = true;
    while (service->waiters) {
        doorbell_ring(&service->bell);
        waiting_pause(ripc);
    }
    events_emit(ripc, service_closed, service);
    struct list *node;
    while ((node = list_take(&service->events)))
        free(container_of(node, struct event, node));
    windows_fini(&service->windows);
    id_map_fini(&service->remotes);
    id_map_fini(&service->operations);
    service_free(service);
}

void service_close(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    ripc_id id = service->id;
    names_withdraw(ripc->names, id, id);
    service_dismantle(service);
    trace_event(ripc->trace, TRACE_UNBIND, id, 0, 0);
}

int service_open(struct ripc *ripc, ripc_id id, service_notified *notified,
                 struct ripc_service **out)
{
    if (id && id_map_get(&ripc->services, id))
        return -EADDRINUSE;
    struct ripc_service *service = calloc(1, sizeof *service);
    if (!service)
        return -ENOMEM;
    int result = doorbell_open(&service->bell);
    if (result) {
        free(service);
        return result;
    }
    service->ripc = ripc;
    service->id = id ? id : entropy_u64();
    service->incarnation = (uint64_t)clock_wall();
    service->notified = notified;
    service->loop_fd = -1;
    service->windows.pool = ripc->pool;
    list_init(&service->arrivals);
    list_init(&service->events);
    if (!id_map_put(&ripc->services, service->id, service)) {
        doorbell_close(&service->bell);
        free(service);
        return -ENOMEM;
    }
    result = service_claim(service);
    if (result) {
        service_dismantle(service); /* peers may have sent to it already */
        return result;
    }
    trace_event(ripc->trace, TRACE_BIND, service->id, 0, 0);
    *out = service;
    return 0;
}

int ripc_bind(struct ripc *ripc, ripc_id id, uint32_t flags, struct ripc_service **service)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (flags)
        return -EINVAL;
    lock_take(&ripc->lock);
    lock_favour(&ripc->lock); /* the first thread that binds usually also sends and receives */
    int result = service_open(ripc, id, NULL, service);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_unbind(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = service_drain(ripc, service, RIPC_FOREVER);
    service_close(service);
    lock_drop(&ripc->lock);
    return result;
}

ripc_id ripc_service_id(const struct ripc_service *service)
{
    return service->id;
}
