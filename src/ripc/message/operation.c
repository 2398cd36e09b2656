#include "ripc/message/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct operation *operation_new(struct ripc_service *service, ripc_id to, uint64_t user,
                                const struct iovec *longs, unsigned long_count, unsigned receivers)
{
    assert(receivers > 0);
    struct operation *operation = calloc(1, sizeof *operation);
    struct iovec *items = calloc(long_count + 1, sizeof *items);
    void **copies = calloc(long_count + 1, sizeof *copies);
    struct flight *flights = calloc(receivers, sizeof *flights);
    int64_t number = service->operation_last + 1;
    if (!operation || !items || !copies || !flights ||
        !id_map_put(&service->operations, (uint64_t)number, operation)) {
        free(operation);
        free(items);
        free(copies);
        free(flights);
        return NULL;
    }
    service->operation_last = number;
    for (unsigned i = 0; i < long_count; i++)
        items[i] = longs[i];
    *operation = (struct operation){
        .service = service,
        .number = number,
        .waiting = 1,
        .items = items,
        .item_count = long_count,
        .copies = copies,
        .flights = flights,
        .flight_count = receivers,
        .event.event = {.kind = RIPC_DONE, .operation = number, .user = user, .id = to},
    };
    list_init(&operation->event.node);
    for (unsigned i = 0; i < receivers; i++) {
        flights[i].operation = operation;
        list_init(&flights[i].node);
    }
    service->ripc->stats.operations++;
    return operation;
}

void operation_fly(struct operation *operation, struct remote *remote)
{
    assert(operation->flown < operation->flight_count);
    struct flight *flight = &operation->flights[operation->flown++];
    operation->waiting++;
    flight->remote = remote;
    list_append(&remote->flights, &flight->node);
}

/* The caller may reuse the memory from here on. */
static void operation_let_go(struct operation *operation)
{
    struct pool *pool = operation->service->ripc->pool;
    for (unsigned i = 0; i < operation->item_count; i++) {
        pool_unuse(pool, operation->items[i].iov_base);
        if (operation->copies[i])
            pool_free(pool, operation->copies[i]);
    }
    operation->item_count = 0;
    operation->service->ripc->stats.operations--;
}

static void operation_complete(struct operation *operation, int status)
{
    assert(!operation->complete);
    struct ripc_service *service = operation->service;
    operation->complete = true;
    operation->event.event.status = status;
    operation_let_go(operation);
    trace_event(service->ripc->trace, TRACE_DONE, service->id, operation->event.event.id, status);
    if (!operation->wanted)
        list_append(&service->events, &operation->event.node);
    doorbell_ring(&service->bell);
}

static void operation_less(struct operation *operation)
{
    assert(operation->waiting > 0 && !operation->complete);
    if (--operation->waiting == 0)
        operation_complete(operation, operation->event.event.status);
}

void operation_launch(struct operation *operation)
{
    assert(operation->flown > 0);
    operation_less(operation);
}

void operation_undo(struct operation *operation)
{
    assert(!operation->complete && operation->flown == 0);
    operation->service->ripc->stats.operations--;
    operation_free(operation);
}

static void flight_land(struct flight *flight, int status)
{
    struct operation *operation = flight->operation;
    list_remove(&flight->node);
    if (status && !operation->event.event.status)
        operation->event.event.status = status;
    operation_less(operation);
}

static struct flight *flight_find(struct remote *remote, uint64_t token)
{
    list_each(&remote->flights, node)
    {
        struct flight *flight = container_of(node, struct flight, node);
        if ((uint64_t)flight->operation->number == token)
            return flight;
    }
    return NULL;
}

void flight_acknowledged(struct remote *remote, uint64_t token, int status)
{
    struct flight *flight = flight_find(remote, token);
    /* An unknown token is an operation that was aborted here; its acknowledgement is late, not
     * wrong. */
    if (flight)
        flight_land(flight, status);
}

void flights_lost(struct remote *remote, int reason)
{
    list_each(&remote->flights, node) flight_land(container_of(node, struct flight, node), reason);
}

void operation_free(struct operation *operation)
{
    list_remove(&operation->event.node);
    id_map_take(&operation->service->operations, (uint64_t)operation->number);
    free(operation->items);
    free(operation->copies);
    free(operation->flights);
    free(operation);
}

void operations_drop(struct ripc_service *service)
{
    size_t cursor = 0;
    struct operation *operation;
    while ((operation = id_map_next(&service->operations, &cursor))) {
        assert(operation->complete); /* the pipes are closed: nothing is in flight any more */
        operation_free(operation);
        cursor = 0;
    }
}

static int operation_copy_item(struct operation *operation, struct remote *remote, unsigned item,
                               struct remote_memory *memory)
{
    struct ripc *ripc = operation->service->ripc;
    if (item >= operation->item_count)
        return -EPROTO;
    size_t size = operation->items[item].iov_len;
    if (!operation->copies[item]) {
        operation->copies[item] = pool_alloc(ripc->pool, size);
        if (!operation->copies[item])
            return -ENOMEM;
        memcpy(operation->copies[item], operation->items[item].iov_base, size);
    }
    void *copy = operation->copies[item];
    struct region *region;
    int result =
        context_region(ripc, remote->transport, pool_find(ripc->pool, copy, size), &region);
    if (result)
        return result;
    return remote->link->ops->memory->share(remote->link, region, copy, size, MEMORY_READ, memory);
}

void operation_copy(struct peer *peer, struct control_words *words)
{
    struct remote *remote = remote_of_pipe(peer, words->pipe);
    struct flight *flight = remote ? flight_find(remote, words->number) : NULL;
    if (!flight)
        return; /* cancelled in the meantime */
    struct control_words answer = {
        .kind = CONTROL_COPIED,
        .pipe = words->pipe,
        .number = words->number,
        .item = words->item,
    };
    answer.status = operation_copy_item(flight->operation, remote, words->item, &answer.memory);
    peer_answer(peer, &answer);
}
