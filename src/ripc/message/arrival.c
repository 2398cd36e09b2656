/* arrival: the receiving end of a pipe, from the peer's offer until the last
 * message that came through it was released.
 *
 * Frames are pulled in bursts and taken one by one. The first whose long items
 * are still on their way holds up those behind it: messages of one sender stay
 * in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/check.h"
#include "ripc/core/service.h"
#include "ripc/message/incoming.h"
#include "ripc/message/notice.h"
#include "ripc/message/offer.h"

#define ARRIVAL_ORPHANS_MAX 64 /* unread pipes of dead peers that a service keeps */
#define ARRIVAL_CANCELS_MAX 1024
#define ARRIVAL_DROPS_MAX   64   /* frames that are no messages, between two moments for others */
#define ARRIVALS_MAX        4096 /* pipes of one peer: each costs memory and address space */

/* ---- opening and closing ---- */

static int arrival_transport(const struct ripc *ripc, const char *name, unsigned *index)
{
    for (*index = 0; *index < ripc->transport_count; ++*index)
        if (strcmp(ripc->transports[*index]->ops->name, name) == 0)
            return 0;
    return -EOPNOTSUPP;
}

static struct arrival *arrival_of_pipe(struct peer *peer, uint64_t pipe)
{
    list_each(&peer->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, peer_node);
        if (arrival->pipe == pipe)
            return arrival;
    }
    return NULL;
}

/* A pipe holds a descriptor of ours: no peer gets more than its share of what
 * we may have. */
static unsigned arrivals_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 > ARRIVALS_MAX)
        return ARRIVALS_MAX;
    return (unsigned)limit.rlim_cur / 4;
}

static int arrival_new(struct peer *peer, struct control_words *words, struct parcel *answer)
{
    struct ripc *ripc = peer->ripc;
    struct ripc_service *service = id_map_get(&ripc->services, words->to);
    unsigned transport;
    struct link *link;
    if (!service || service->closing) {
        ripc->stats.dropped_unknown++;
        return -ENOENT;
    }
    if (arrival_of_pipe(peer, words->pipe))
        return -EPROTO;
    if (peer->arrival_count >= arrivals_max())
        return -ECONNREFUSED;
    int result = arrival_transport(ripc, words->transport, &transport);
    if (result == 0)
        result = peer_link(peer, transport, &link);
    if (result)
        return result;
    struct arrival *arrival = calloc(1, sizeof *arrival);
    if (!arrival)
        return -ENOMEM;
    result =
        link->ops->pipes->inlet_open(link, &service->bell, &words->parcel, answer, &arrival->inlet);
    if (result) {
        free(arrival);
        return result;
    }
    arrival->service = service;
    arrival->peer = peer;
    arrival->transport = transport;
    arrival->from = words->from;
    arrival->pipe = words->pipe;
    list_init(&arrival->incomings);
    list_append(&service->arrivals, &arrival->service_node);
    list_append(&peer->arrivals, &arrival->peer_node);
    service->arrival_count++;
    peer->arrival_count++;
    doorbell_ring(&service->bell); /* frames may be there already */
    return 0;
}

void arrival_open(struct peer *peer, struct control_words *words)
{
    struct control_words answer = {.kind = CONTROL_ANSWER, .pipe = words->pipe};
    answer.status = arrival_new(peer, words, &answer.parcel);
    peer_answer(peer, &answer);
    if (answer.status == -EPROTO)
        peer_condemn(peer);
    parcel_fini(&answer.parcel);
}

void arrival_close(struct arrival *arrival)
{
    struct peer *peer = arrival->peer;
    assert(list_is_empty(&arrival->incomings));
    arrival->inlet->ops->inlet_close(arrival->inlet);
    list_remove(&arrival->service_node);
    list_remove(&arrival->peer_node);
    arrival->service->arrival_count--;
    peer->arrival_count--;
    id_map_fini(&arrival->canceled);
    free(arrival);
    peer_settle(peer);
}

void arrival_settle(struct arrival *arrival)
{
    if (!arrival->ended || arrival->busy || arrival->held || arrival->next < arrival->count ||
        !list_is_empty(&arrival->incomings))
        return;
    int count = arrival->inlet->ops->pull(arrival->inlet, arrival->frames, ARRIVAL_BURST);
    arrival->next = 0;
    arrival->count = count > 0 ? (unsigned)count : 0;
    if (arrival->count == 0)
        arrival_close(arrival);
}

/* Nobody will answer for its items any more. */
static void arrival_break_off(struct arrival *arrival, int status)
{
    arrival->held++; /* so that it does not close under us */
    list_each(&arrival->incomings, node)
        incoming_break_off(container_of(node, struct incoming, node), status);
    arrival->held--;
}

void arrival_end(struct peer *peer, uint64_t pipe)
{
    struct arrival *arrival = arrival_of_pipe(peer, pipe);
    if (!arrival)
        return;
    arrival->ended = arrival->closed = true;
    arrival_break_off(arrival, -ECANCELED);
    doorbell_ring(&arrival->service->bell);
    arrival_settle(arrival);
}

static bool arrival_is_orphan(const struct arrival *arrival)
{
    return arrival->peer->state == PEER_DEAD && !arrival->busy && !arrival->held &&
           list_is_empty(&arrival->incomings);
}

/* A service that never takes its messages does not keep those of all the dead. */
static void arrivals_limit(struct ripc_service *service)
{
    unsigned orphans = 0;
    list_each(&service->arrivals, node) orphans +=
        arrival_is_orphan(container_of(node, struct arrival, service_node));
    list_each(&service->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (orphans <= ARRIVAL_ORPHANS_MAX)
            break;
        if (!arrival_is_orphan(arrival))
            continue;
        service->ripc->stats.dropped_unknown++;
        arrival_close(arrival);
        orphans--;
    }
}

void arrivals_orphan(struct peer *peer)
{
    struct ripc *ripc = peer->ripc;
    list_each(&peer->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, peer_node);
        arrival->ended = true;
        arrival_break_off(arrival, -EPIPE);
        doorbell_ring(&arrival->service->bell);
        arrival_settle(arrival);
    }
    /* Only now: it may close any. */
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor)))
        arrivals_limit(service);
}

void arrival_cancel(struct peer *peer, uint64_t pipe, uint64_t token)
{
    struct arrival *arrival = arrival_of_pipe(peer, pipe);
    if (!arrival || token == 0)
        return;
    list_each(&arrival->incomings, node)
    {
        struct incoming *incoming = container_of(node, struct incoming, node);
        if (incoming->token == token) {
            incoming_refuse(incoming, -ECANCELED);
            doorbell_ring(&arrival->service->bell);
            return;
        }
    }
    /* Tokens of a sender rise. What is not seen yet is remembered; the rest is over. */
    if (token > arrival->token_last && (arrival->canceled.count >= ARRIVAL_CANCELS_MAX ||
                                        !id_map_put(&arrival->canceled, token, arrival)))
        peer_condemn(peer); /* more than can be in flight */
}

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
    if (head->kind != FRAME_NOTIFY || !arrival->service->hidden)
        return -EPROTO;
    return notice_arrived(arrival->service->ripc, frame->body, frame->size);
}

static bool arrival_refill(struct arrival *arrival)
{
    int count = arrival->inlet->ops->pull(arrival->inlet, arrival->frames, ARRIVAL_BURST);
    if (count == -EPROTO)
        peer_condemn(arrival->peer);
    arrival->next = 0;
    arrival->count = count > 0 ? (unsigned)count : 0;
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
            if (++dropped == ARRIVAL_DROPS_MAX) {
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

size_t arrivals_owe(const struct ripc_service *service)
{
    size_t owed = 0;
    list_each(&service->arrivals, node)
    {
        const struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (!arrival->ended && arrival->inlet->ops->inlet_owes)
            owed += arrival->inlet->ops->inlet_owes(arrival->inlet);
    }
    return owed;
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
