#include "ripc/message/incoming.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "ripc/message/offer.h"

/* Copies are made under the lock, in pieces; other threads can take it in between. */
#define PULL_PIECE ((size_t)1 << 20)

static struct ripc *incoming_context(const struct incoming *incoming)
{
    return incoming->arrival->service->ripc;
}

static struct ripc_item *item_public(struct incoming_item *item)
{
    return &item->incoming->items[item - item->incoming->details];
}

static void incoming_free(struct incoming *incoming)
{
    struct arrival *arrival = incoming->arrival;
    list_remove(&incoming->node);
    free(incoming->items);
    free(incoming->details);
    free(incoming);
    arrival_settle(arrival);
}

/* The last item is settled: the sender may reuse its memory. */
static void incoming_acknowledge(struct incoming *incoming)
{
    if (incoming->token)
        arrival_acknowledge(incoming->arrival, incoming->token, incoming->status);
    incoming->token = 0;
}

/* The program's view of a delivered item changes only during calls of the program. */
static void item_show(struct incoming_item *item)
{
    struct ripc_item *public = item_public(item);
    public->status = item->status;
    public->data = item->status ? NULL : item->to;
}

static void item_settle(struct incoming_item *item, int status)
{
    struct incoming *incoming = item->incoming;
    struct ripc *ripc = incoming_context(incoming);
    assert(item->state != ITEM_SETTLED);
    item->state = ITEM_SETTLED;
    item->status = status;
    if (item->window_size) /* a window into which nothing came is available again */
        windows_settle(item->windows, item->to, status == 0);
    if (status) {
        if (!incoming->status)
            incoming->status = status;
    } else {
        ripc->stats.long_received++;
        ripc->stats.long_received_bytes += item_public(item)->size;
    }
    if (!incoming->delivered)
        item_show(item);
    assert(incoming->unsettled > 0);
    if (--incoming->unsettled == 0)
        incoming_acknowledge(incoming);
}

/* ---- copying ---- */

static void item_stop(struct incoming_item *item)
{
    if (item->region)
        item->region->ops->region_close(item->region);
    item->region = NULL;
    item->incoming->moving--;
    item->incoming->arrival->peer->users--;
}

static void item_done(struct transfer *transfer, int status)
{
    struct incoming_item *item = container_of(transfer, struct incoming_item, transfer);
    struct incoming *incoming = item->incoming;
    struct ripc_service *service = incoming->arrival->service;
    item_stop(item);
    item_settle(item, status);
    doorbell_ring(&service->bell);
    if (incoming->released && incoming->moving == 0)
        incoming_free(incoming);
}

/* We cannot read the sender's memory: ask the sender for a copy that we can read. */
static int item_ask_copy(struct incoming_item *item)
{
    struct arrival *arrival = item->incoming->arrival;
    item->state = ITEM_ASKED;
    return peer_say(arrival->peer, &(struct control_words){
                                       .kind = CONTROL_COPY,
                                       .pipe = arrival->pipe,
                                       .number = item->incoming->token,
                                       .item = (uint32_t)(item - item->incoming->details),
                                   });
}

/* 1: done, 0: under way, or an error. */
static int item_read(struct incoming_item *item, struct transport_link *link, struct region *region)
{
    struct arrival *arrival = item->incoming->arrival;
    size_t size = item_public(item)->size;
    if (!(link->ops->abilities & TRANSPORT_LOCAL))
        return link->ops->memory->read(link, &item->memory, 0, item->to, size, region,
                                       &item->transfer);
    for (size_t at = 0; at < size; at += PULL_PIECE) {
        size_t piece = size - at < PULL_PIECE ? size - at : PULL_PIECE;
        int result = link->ops->memory->read(link, &item->memory, at, (uint8_t *)item->to + at,
                                             piece, NULL, &item->transfer);
        if (result != 1)
            return result == 0 ? -EPROTO : result;
        if (at + piece < size) {
            arrival->busy++; /* other receivers skip this arrival while we release the lock */
            waiting_give_way(arrival->service->ripc);
            arrival->busy--;
            if (arrival->closed)
                return -ECANCELED;
        }
    }
    return 1;
}

/* Starts to bring the item to `item->to`; it settles now or later. */
static void item_pull(struct incoming_item *item)
{
    struct arrival *arrival = item->incoming->arrival;
    struct transport_link *link = arrival->peer->links[arrival->transport];
    struct region *region;
    item->incoming->moving++;
    arrival->peer->users++;
    item->state = ITEM_MOVING;
    item->transfer.done = item_done;
    int result = context_region_for(arrival->service->ripc, arrival->transport, item->to,
                                    item_public(item)->size, &region, &item->region);
    if (result == 0)
        result = item_read(item, link, region);
    if (result == 0)
        return; /* item_done follows */
    if (result == -EOPNOTSUPP) {
        result = item_ask_copy(item);
        if (result == 0)
            return; /* incoming_copied follows */
    }
    trace_event(arrival->service->ripc->trace, TRACE_PULL, arrival->service->id, arrival->from,
                result == 1 ? (int64_t)item_public(item)->size : result);
    item_stop(item);
    item_settle(item, result == 1 ? 0 : result);
}

void incoming_copied(struct peer *peer, struct control_words *words)
{
    list_each(&peer->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, peer_node);
        if (arrival->pipe != words->pipe)
            continue;
        list_each(&arrival->incomings, other)
        {
            struct incoming *incoming = container_of(other, struct incoming, node);
            if (incoming->token != words->number || words->item >= incoming->count)
                continue;
            struct incoming_item *item = &incoming->details[words->item];
            if (item->state != ITEM_ASKED)
                continue;
            struct transport_link *link = peer->links[arrival->transport];
            item->memory = words->memory;
            int result = words->status;
            if (result == 0 && words->memory.size != item_public(item)->size)
                result = -EPROTO;
            item->state = ITEM_MOVING;
            if (result == 0)
                result = item_read(item, link, NULL);
            item_done(&item->transfer, result == 1 ? 0 : result);
            return;
        }
    }
}

/* ---- from arrival to release ---- */

/* Finds the return buffer or a window for an item, or leaves it pending. */
static int item_target(struct incoming_item *item, const struct message_item *wire)
{
    struct arrival *arrival = item->incoming->arrival;
    struct ripc_service *service = arrival->service;
    struct ripc_item *public = item_public(item);
    if (wire->way == ITEM_RETURNED) {
        int result = offer_take(service, arrival->peer, wire, public);
        item->to = public->data;
        item_settle(item, result);
        return result;
    }
    if (arrival->closed) {
        item_settle(item, -ECANCELED);
        return 0;
    }
    item->memory = wire->memory;
    item->windows = &service->windows;
    item->to = windows_take(&service->windows, wire->size, &item->window_size);
    if (!item->to) {
        item->windows = &service->ripc->windows;
        item->to = windows_take(&service->ripc->windows, wire->size, &item->window_size);
    }
    if (item->to) {
        item_pull(item);
        return 0;
    }
    service->ripc->stats.pending++;
    trace_event(service->ripc->trace, TRACE_PENDING, service->id, arrival->from,
                (int64_t)wire->size);
    return 0;
}

struct incoming *incoming_new(struct arrival *arrival, const struct message_head *head,
                              const struct message_table *table)
{
    unsigned count = head->long_count;
    struct incoming *incoming = calloc(1, sizeof *incoming);
    struct ripc_item *items = calloc(count, sizeof *items);
    struct incoming_item *details = calloc(count, sizeof *details);
    if (!incoming || !items || !details) {
        free(incoming);
        free(items);
        free(details);
        return NULL;
    }
    *incoming = (struct incoming){
        .arrival = arrival,
        .token = head->token,
        .count = count,
        .unsettled = count,
        .items = items,
        .details = details,
    };
    list_append(&arrival->incomings, &incoming->node);
    for (unsigned i = 0; i < count; i++) {
        details[i].incoming = incoming;
        items[i].size = table->items[i].size;
        items[i].status = -EINPROGRESS;
    }
    /* While one item is copied, the sender may cancel items that still have to be placed. */
    for (unsigned i = 0; i < count; i++)
        if (details[i].state == ITEM_PENDING &&
            item_target(&details[i], &table->items[i]) == -EPROTO)
            peer_condemn(arrival->peer);
    return incoming;
}

void incoming_refuse(struct incoming *incoming, int status)
{
    for (unsigned i = 0; i < incoming->count; i++)
        if (incoming->details[i].state == ITEM_PENDING) {
            incoming_context(incoming)->stats.rejected += status == -ENOBUFS;
            item_settle(&incoming->details[i], status);
        }
}

void incoming_release(struct incoming *incoming)
{
    incoming_refuse(incoming, -ENOBUFS);
    incoming->released = true;
    if (incoming->moving == 0)
        incoming_free(incoming);
}

void incoming_break_off(struct incoming *incoming, int status)
{
    if (incoming->arrival->closed)
        incoming_refuse(incoming, status);
    unsigned asked = 0;
    for (unsigned i = 0; i < incoming->count; i++)
        asked += incoming->details[i].state == ITEM_ASKED;
    for (unsigned i = 0; asked > 0; i++) /* the last one may free `incoming` */
        if (incoming->details[i].state == ITEM_ASKED) {
            asked--;
            item_done(&incoming->details[i].transfer, status);
        }
}

/* ---- calls of the program ---- */

static struct incoming *message_incoming(const struct ripc_message *message)
{
    return message->internal[2];
}

static int item_check(void *argument)
{
    const struct incoming_item *item = argument;
    return item->state == ITEM_SETTLED;
}

static int item_fetch(struct incoming_item *item, void *to, size_t size)
{
    struct incoming *incoming = item->incoming;
    struct ripc_service *service = incoming->arrival->service;
    if (item->state != ITEM_PENDING) {
        bool canceled = item->state == ITEM_SETTLED && item->status == -ECANCELED;
        if (canceled)
            item_show(item);
        return canceled ? -ECANCELED : -ESTALE;
    }
    if (item_public(item)->size > size)
        return -EMSGSIZE;
    item->to = to;
    /* Once begun, a fetch is finished even if the service closes, because the memory is being
     * written to. */
    service->waiters++;
    item_pull(item);
    if (item->state != ITEM_SETTLED)
        waiting_until(service->ripc, &service->bell, item_check, item, RIPC_FOREVER);
    service->waiters--;
    item_show(item);
    return item->status;
}

int ripc_fetch(struct ripc_message *message, unsigned index, void *to, size_t size,
               int64_t deadline)
{
    if (index >= message->long_count || !message->internal[0])
        return -EINVAL;
    struct incoming *incoming = message_incoming(message);
    struct ripc *ripc = incoming_context(incoming);
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (deadline != RIPC_NOW && clock_now() >= deadline)
        return -ETIMEDOUT;
    lock_take(&ripc->lock);
    int result = item_fetch(&incoming->details[index], to, size);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_reject(struct ripc_message *message, unsigned index)
{
    if (index >= message->long_count || !message->internal[0])
        return -EINVAL;
    struct incoming *incoming = message_incoming(message);
    struct ripc *ripc = incoming_context(incoming);
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = -ESTALE;
    if (incoming->details[index].state == ITEM_PENDING) {
        ripc->stats.rejected++;
        item_settle(&incoming->details[index], -ENOBUFS);
        item_show(&incoming->details[index]);
        result = 0;
    }
    lock_drop(&ripc->lock);
    return result;
}
