/* receive: from frames that arrived to messages of the program, and back.
 *
 * Most messages are one short item that has arrived when the program asks: ripc_receive takes it
 * from the frames of an arrival, which it pulls if necessary, and fills in the message. This file
 * does all of that; all other frames go to unpack.c. A call that finds nothing waits in its
 * service. */
#include "ripc/message/receive.h"

#include <errno.h>

#include "base/bytes.h"
#include "ripc/message/incoming.h"
#include "ripc/message/retiring.h"
#include "ripc/message/unpack.h"

#define RECEIVE_DROPS_MAX 64 /* frames without a message, before other threads get the lock */

/* ---- taking ---- */

static void arrival_release(struct arrival *arrival, const struct frame *frame)
{
    arrival->inlet->ops->release(arrival->inlet, frame);
}

static bool arrival_refill(struct arrival *arrival)
{
    int count = arrival_pull(arrival);
    if (count == -EPROTO)
        peer_condemn(arrival->peer);
    return count > 0;
}

/* Drops a frame that is not a message, or is malformed, and frees its slot. False: leave this pipe
 * for now. */
static bool arrival_drop(struct arrival *arrival, const struct frame *frame, int result,
                         unsigned *dropped)
{
    arrival_release(arrival, frame);
    if (result == -EPROTO) {
        peer_condemn(arrival->peer);
        return false;
    }
    if (++*dropped < RECEIVE_DROPS_MAX)
        return true;
    doorbell_ring(&arrival->service->bell); /* so that no receiver sleeps while frames are left */
    return false;
}

/* The program gets `count` messages of the arrival, of so many bytes together. */
static inline void arrival_count_taken(struct arrival *arrival, unsigned count, uint64_t bytes)
{
    struct ripc *ripc = arrival->service->ripc;
    arrival->held += count;
    ripc->stats.received += count;
    ripc->stats.received_bytes += bytes;
}

/* Takes messages of one short item, up to the first frame of another kind. Returns how many. */
static inline unsigned arrival_take_plain(struct arrival *arrival, struct ripc_message *out,
                                          unsigned max)
{
    struct trace *trace = arrival->service->ripc->trace;
    unsigned taken = 0;
    uint64_t bytes = 0;
    for (; taken < max; taken++) {
        if (arrival->next == arrival->count && !arrival_refill(arrival))
            break;
        const struct frame *frame = &arrival->frames[arrival->next];
        if (!message_frame_is_plain(&frame->head))
            break;
        unpack_plain(arrival, frame, &out[taken]);
        trace_event(trace, TRACE_RECEIVE, arrival->service->id, arrival->from, frame->size);
        bytes += frame->size;
        arrival->next++;
    }
    if (taken)
        arrival_count_taken(arrival, taken, bytes);
    return taken;
}

/* Returns how many messages were taken. The arrival may be closed afterwards. */
static unsigned arrival_take(struct arrival *arrival, struct ripc_message *out, unsigned max)
{
    unsigned dropped = 0;
    unsigned taken = arrival_take_plain(arrival, out, max);
    while (taken < max && arrival->next < arrival->count) {
        const struct frame *frame = &arrival->frames[arrival->next];
        const struct message_head head = message_head_read(&frame->head);
        int result = unpack_other(arrival, &head, frame, &out[taken]);
        if (result == -EAGAIN)
            break;
        arrival->next++;
        if (result == 1) {
            trace_event(arrival->service->ripc->trace, TRACE_RECEIVE, arrival->service->id,
                        arrival->from, frame->size);
            arrival_count_taken(arrival, 1, frame->size);
            taken++;
        } else if (!arrival_drop(arrival, frame, result, &dropped))
            break;
        taken += arrival_take_plain(arrival, out + taken, max - taken);
    }
    return taken;
}

/* Returns the first of the list and moves it to the end, so that no pipe starves another. Taking
 * may close any arrival, so the list is never iterated. */
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
    return service->retiring && arrivals_are_drained(service);
}

/* ---- the calls ---- */

struct receiving {
    struct ripc_service *service;
    struct ripc_message *messages;
    unsigned max;
};

/* The usual case: the pipe whose turn it is has one short item next. 1: taken; 0: no pipe has
 * anything; -EAGAIN: another case, for arrivals_take, which starts with the same pipe. */
static inline int receive_plain(struct ripc_service *service, struct ripc_message *out)
{
    for (unsigned turns = service->arrival_count; turns && !list_is_empty(&service->arrivals);
         turns--) {
        struct arrival *arrival =
            container_of(service->arrivals.next, struct arrival, service_node);
        if (arrival->busy || (arrival->next == arrival->count && !arrival_refill(arrival))) {
            if (arrival->ended)
                return -EAGAIN;
            arrivals_turn(service);
            continue;
        }
        if (!message_frame_is_plain(&arrival->frames[arrival->next].head))
            return -EAGAIN;
        arrivals_turn(service);
        return (int)arrival_take_plain(arrival, out, 1);
    }
    return 0;
}

static inline int receive_take(struct ripc_service *service, struct ripc_message *out, unsigned max)
{
    int result = max == 1 ? receive_plain(service, out) : -EAGAIN;
    return result == -EAGAIN ? arrivals_take(service, out, max) : result;
}

static int receive_check(void *argument)
{
    const struct receiving *receiving = argument;
    int result = receive_take(receiving->service, receiving->messages, receiving->max);
    if (result == 0 && receiving->service->retiring && arrivals_are_drained(receiving->service))
        return -ESHUTDOWN;
    return result;
}

int ripc_receive(struct ripc_service *service, struct ripc_message *messages, unsigned max,
                 int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    if (max == 0)
        return -EINVAL;
    lock_take(&service->ripc->lock);
    service->waiters++; /* keeps the service while the lock is released for copying long items */
    int result = service->closing ? -ECANCELED : receive_take(service, messages, max);
    service->waiters--;
    if (result == 0) {
        struct receiving receiving = {.service = service, .messages = messages, .max = max};
        result = service_wait_longer(service, receive_check, &receiving, deadline);
    }
    lock_drop(&service->ripc->lock);
    return result;
}

int receive_interruptibly(struct ripc_service *service, struct ripc_message *message,
                          const struct waiting_signals *signals)
{
    struct receiving receiving = {.service = service, .messages = message, .max = 1};
    lock_take(&service->ripc->lock);
    int result = service_wait_interruptibly(service, receive_check, &receiving, signals);
    lock_drop(&service->ripc->lock);
    return result;
}

/* The sizes are stored before the items, in memory that the sender can still write to: they are
 * checked at every use. */
const void *ripc_short(const struct ripc_message *message, unsigned index, size_t *size)
{
    if (index >= message->short_count || !message->internal[0])
        return NULL;
    if (message->short_count == 1) {
        if (size)
            *size = message->size;
        return message->data;
    }
    struct reader sizes = reader_make(message->internal[1], 2u * message->short_count);
    size_t offset = 0;
    for (unsigned i = 0; i < index; i++)
        offset += read_u16(&sizes);
    size_t item_size = read_u16(&sizes);
    if (offset > message->size || item_size > message->size - offset)
        return NULL;
    if (size)
        *size = item_size;
    return (const uint8_t *)message->data + offset;
}

void ripc_release(struct ripc_message *message)
{
    struct arrival *arrival = message->internal[0];
    if (!arrival)
        return;
    struct ripc *ripc = arrival->service->ripc;
    if (!context_is_ours(ripc))
        return;
    struct frame frame; /* release() needs no more of it */
    frame.cookie = message->cookie;
    frame.size = message->size; /* without its table: it only affects when credit is returned */
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
