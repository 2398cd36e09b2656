#include "ripc/message/receive.h"

#include <errno.h>

#include "base/bytes.h"
#include "ripc/message/incoming.h"
#include "ripc/message/offer.h"

#define RECEIVE_DROPS_MAX 64 /* frames that are no messages, between two moments for others */

/* ---- taking ---- */

static void arrival_release(struct arrival *arrival, const struct frame *frame)
{
    arrival->inlet->ops->release(arrival->inlet, frame);
}

static void arrival_fill(struct arrival *arrival, const struct message_head *head,
                         const struct frame *frame, struct ripc_message *out)
{
    *out = (struct ripc_message){
        .from = arrival->from,
        .to = head->group ? head->group : arrival->service->id,
        .data = frame->body,
        .size = frame->size,
        .short_count = head->short_count,
        .long_count = head->long_count,
        .return_count = head->return_count,
        .internal = {arrival, (void *)frame->body, NULL},
        .cookie = frame->cookie,
    };
}

/* A frame with a table. 1 taken, 0 dropped, -EAGAIN its items are on their
 * way, -EPROTO nonsense. */
static int arrival_take_table(struct arrival *arrival, const struct message_head *head,
                              const struct frame *frame, struct ripc_message *out)
{
    struct message_table table;
    struct incoming *incoming = arrival->incoming;
    int offset = message_table_read(head, frame->body, frame->size, &table);
    if (offset < 0) {
        /* Good when its items were asked for, and changed since: nobody's now. */
        arrival->incoming = NULL;
        if (incoming)
            incoming_release(incoming);
        return offset;
    }
    if (!incoming && head->long_count) {
        bool canceled = head->token && id_map_take(&arrival->canceled, head->token);
        arrival->token_last = head->token ? head->token : arrival->token_last;
        incoming = canceled ? NULL : incoming_new(arrival, head, &table);
        arrival->incoming = incoming;
        if (!incoming) {
            offers_return(arrival->service, arrival->peer, &table, head->long_count);
            if (head->token)
                arrival->inlet->ops->acknowledge(arrival->inlet, head->token,
                                                 canceled ? -ECANCELED : -ENOMEM);
            return 0;
        }
    }
    if (incoming && !incoming_is_ready(incoming))
        return -EAGAIN;
    if (head->return_count)
        their_offers_keep(arrival->service, arrival, table.offers, head->return_count);
    arrival_fill(arrival, head, frame, out);
    out->data = frame->body + offset;
    out->size = frame->size - (uint32_t)offset;
    out->longs = incoming ? incoming->items : NULL;
    out->internal[2] = incoming;
    if (incoming)
        incoming->delivered = true;
    arrival->incoming = NULL;
    return 1;
}

static int arrival_take_other(struct arrival *arrival, const struct message_head *head,
                              const struct frame *frame)
{
    struct ripc_service *service = arrival->service;
    if (head->kind != FRAME_NOTIFY || !service->notified)
        return -EPROTO;
    return service->notified(service->ripc, frame->body, frame->size);
}

static bool arrival_refill(struct arrival *arrival)
{
    int count = arrival_pull(arrival);
    if (count == -EPROTO)
        peer_condemn(arrival->peer);
    return count > 0;
}

/* Returns how many were taken. The arrival may be closed afterwards. */
static unsigned arrival_take(struct arrival *arrival, struct ripc_message *out, unsigned max)
{
    struct ripc *ripc = arrival->service->ripc;
    unsigned taken = 0;
    unsigned dropped = 0;
    while (taken < max) {
        if (arrival->next == arrival->count && !arrival_refill(arrival))
            break;
        const struct frame *frame = &arrival->frames[arrival->next];
        const struct message_head head = message_head_read(&frame->head);
        int result = 1;
        if (head.kind == FRAME_MESSAGE && message_is_plain(&head))
            arrival_fill(arrival, &head, frame, &out[taken]);
        else if (head.kind == FRAME_MESSAGE)
            result = arrival_take_table(arrival, &head, frame, &out[taken]);
        else
            result = arrival_take_other(arrival, &head, frame);
        if (result == -EAGAIN)
            break;
        arrival->next++;
        if (result == 1) {
            trace_event(ripc->trace, TRACE_RECEIVE, arrival->service->id, arrival->from,
                        frame->size);
            ripc->stats.received++;
            ripc->stats.received_bytes += frame->size;
            arrival->held++;
            taken++;
        } else {
            arrival_release(arrival, frame);
            if (result == -EPROTO) {
                peer_condemn(arrival->peer);
                break;
            }
            if (++dropped == RECEIVE_DROPS_MAX) {
                doorbell_ring(&arrival->service->bell); /* nobody sleeps over what is left */
                break;
            }
        }
    }
    return taken;
}

/* The first of the list, which goes to the end: nobody is starved by another.
 * Taking may close any arrival, so the list is never walked. */
static struct arrival *arrivals_turn(struct ripc_service *service)
{
    struct list *first = service->arrivals.next;
    if (first->next != &service->arrivals) { /* NOLINT: what was closed left the list */
        list_remove(first);
        list_append(&service->arrivals, first);
    }
    return container_of(first, struct arrival, service_node);
}

int arrivals_take(struct ripc_service *service, struct ripc_message *out, unsigned max)
{
    unsigned taken = 0;
    for (unsigned turns = service->arrival_count;
         turns && taken < max && !list_is_empty(&service->arrivals); turns--) {
        struct arrival *arrival = arrivals_turn(service);
        if (arrival->busy)
            continue;
        unsigned count = arrival_take(arrival, out + taken, max - taken);
        taken += count;
        if (!count && arrival->ended)
            arrival_settle(arrival);
    }
    return (int)taken;
}

bool arrivals_wait(struct ripc_service *service)
{
    list_each(&service->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (arrival->busy)
            continue;
        if (arrival->incoming ? incoming_is_ready(arrival->incoming)
                              : arrival->next < arrival->count || arrival_refill(arrival))
            return true;
    }
    return false;
}

/* ---- the calls ---- */

struct receiving {
    struct ripc_service *service;
    struct ripc_message *messages;
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

void ripc_release(struct ripc_message *message)
{
    struct arrival *arrival = message->internal[0];
    if (!arrival)
        return;
    struct ripc *ripc = arrival->service->ripc;
    struct frame frame = {
        .body = message->internal[1],
        .size = message->size, /* near enough: when to tell the sender depends on it */
        .cookie = message->cookie,
        .head.token = 0,
    };
    lock_take(&ripc->lock);
    arrival_release(arrival, &frame);
    arrival->held--;
    if (message->internal[2])
        incoming_release(message->internal[2]);
    else if (arrival->ended)
        arrival_settle(arrival);
    lock_drop(&ripc->lock);
    message->internal[0] = NULL;
    message->longs = NULL;
    message->long_count = 0;
}
