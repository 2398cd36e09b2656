#include "ripc/message/offer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"

#define THEIR_OFFERS_MAX 4096 /* of one peer: limits what it can make us store */

/* ---- our offers ---- */

/* A call that waits for the answer to its withdrawal. */
struct offer_wait {
    struct list node;
    struct offer *offer; /* NULL: it has ended ... */
    int result;          /* ... and this is the result of the call */
};

/* `result` is that of the calls that wait: 0: the buffer belongs to the program again; -EALREADY:
 * an item was written into it; -ENOENT: another call has withdrawn it. */
static void offer_free(struct offer *offer, int result)
{
    struct pool *pool = offer->service->ripc->pool;
    struct list *node;
    while ((node = list_take(&offer->waits))) {
        struct offer_wait *wait = container_of(node, struct offer_wait, node);
        *wait = (struct offer_wait){.result = result};
        doorbell_ring(&offer->service->bell);
    }
    id_map_take(&offer->service->offers, offer->number);
    mark_free(offer->service->ripc, offer->mark);
    pool_unuse(pool, offer->base);
    if (offer->allocated)
        pool_free(pool, offer->base);
    free(offer);
}

static int offer_make(struct remote *remote, const struct iovec *memory, struct message_offer *out)
{
    struct ripc_service *service = remote->service;
    struct pool *pool = service->ripc->pool;
    struct offer *offer = calloc(1, sizeof *offer);
    if (!offer)
        return -ENOMEM;
    *offer = (struct offer){
        .number = entropy_u64(),
        .service = service,
        .peer = remote->peer,
        .context = remote->peer->address.context,
        .to = remote->id,
        .base = memory->iov_base,
        .size = memory->iov_len,
        .pipe = remote->pipe,
        .frame = remote_pushed(remote), /* it is the next that is pushed */
        .allocated = !memory->iov_base,
    };
    list_init(&offer->waits);
    if (offer->allocated)
        offer->base = pool_alloc(pool, offer->size);
    struct extent *extent = offer->base ? pool_use(pool, offer->base, offer->size) : NULL;
    int result = extent ? 0 : offer->allocated ? -ENOMEM : -EFAULT;
    if (result) {
        free(offer);
        return result;
    }
    struct region *region;
    result = context_region(service->ripc, remote->transport, extent, &region);
    if (result == 0)
        result = remote->link->ops->memory->share(remote->link, region, offer->base, offer->size,
                                                  MEMORY_READ | MEMORY_WRITE, &out->memory);
    if (result == 0 && !id_map_put(&service->offers, offer->number, offer))
        result = -ENOMEM;
    if (result) {
        offer_free(offer, -ENOENT);
        return result;
    }
    out->number = offer->number;
    offer->mark = mark_make(remote, offer->number, &out->mark);
    return 0;
}

int offers_make(struct remote *remote, const struct iovec *returns, unsigned count,
                struct message_offer *out)
{
    for (unsigned i = 0; i < count; i++) {
        int result = offer_make(remote, &returns[i], &out[i]);
        if (result) {
            offers_unmake(remote->service, out, i);
            return result;
        }
    }
    return 0;
}

void offers_unmake(struct ripc_service *service, const struct message_offer *offers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct offer *offer = id_map_get(&service->offers, offers[i].number);
        if (offer)
            offer_free(offer, -ENOENT);
    }
}

int offer_take(struct ripc_service *service, const struct peer *peer,
               const struct message_item *item, struct ripc_item *out)
{
    struct offer *offer = id_map_get(&service->offers, item->number);
    if (!offer)
        return -ESTALE; /* withdrawn or forgotten while the message was on its way */
    if (offer->context != peer->address.context || item->size > offer->size)
        return -EPROTO;
    *out = (struct ripc_item){
        .data = offer->base,
        .size = item->size,
        .returned = true,
        .owned = offer->allocated,
    };
    offer->allocated = false; /* the memory belongs to the program now */
    offer_free(offer, -EALREADY);
    return 0;
}

void offers_return(struct ripc_service *service, const struct peer *peer,
                   const struct message_table *table, unsigned count)
{
    struct ripc_item item;
    for (unsigned i = 0; i < count; i++)
        if (table->items[i].way == ITEM_RETURNED &&
            offer_take(service, peer, &table->items[i], &item) == 0 && item.owned)
            pool_free(service->ripc->pool, item.data);
}

/* Frees the offers to the peer, or all if the peer is NULL. */
static void offers_free(struct ripc_service *service, const struct peer *peer)
{
    bool again = true;
    while (again) { /* a map must not be changed while it is iterated */
        size_t cursor = 0;
        struct offer *offer;
        again = false;
        while (!again && (offer = id_map_next(&service->offers, &cursor)))
            if (!peer || offer->peer == peer) {
                offer_free(offer, 0);
                again = true;
            }
    }
}

void offers_forget(struct peer *peer)
{
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&peer->ripc->services, &cursor)))
        offers_free(service, peer);
}

void offers_drop(struct ripc_service *service)
{
    offers_free(service, NULL);
    id_map_fini(&service->offers);
}

/* ---- offers of peers ---- */

/* The link that reaches the buffer. */
static struct transport_link *their_link(const struct their_offer *theirs)
{
    return theirs->peer->links[theirs->transport];
}

/* Refusals alone do not fill the connection: a peer that has not read them can still be answered,
 * and is not condemned. */
static int their_offer_say_refused(struct peer *peer, ripc_id from, uint64_t number)
{
    if (peer->state == PEER_UP && lifeline_queued(peer->line) > LIFELINE_QUEUE_MAX / 2)
        return -ENOBUFS;
    return peer_say(
        peer, &(struct control_words){.kind = CONTROL_WITHDRAWN, .to = from, .number = number});
}

/* Tells the peer that we do not use its buffer. A peer that does not read its control messages is
 * not told; if it asks later, it gets this answer. */
static void their_offer_refuse(struct peer *peer, uint64_t pipe, ripc_id from, uint64_t number)
{
    int result = their_offer_say_refused(peer, from, number);
    struct arrival *arrival = result && result != -EPIPE ? arrival_of_pipe(peer, pipe) : NULL;
    if (arrival && arrival->refused.count < THEIR_OFFERS_MAX)
        (void)!id_map_put(&arrival->refused, number, arrival);
}

void their_offers_refuse(struct arrival *arrival, const struct message_offer *offers,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!id_map_take(&arrival->withdrawn, offers[i].number))
            their_offer_refuse(arrival->peer, arrival->pipe, arrival->from, offers[i].number);
}

/* Owns the mapping from now on. False: there are too many, or there is no memory for it. */
static bool their_offer_add(struct ripc_service *service, struct arrival *arrival,
                            const struct message_offer *offer, const struct mapping *mark)
{
    struct peer *peer = arrival->peer;
    struct remote *remote;
    if (peer->offer_count >= THEIR_OFFERS_MAX || remote_get(service, arrival->from, &remote) < 0)
        return false;
    struct their_offer *theirs = malloc(sizeof *theirs);
    if (!theirs)
        return false;
    *theirs = (struct their_offer){
        .peer = peer,
        .transport = arrival->transport,
        .pipe = arrival->pipe,
        .offer = *offer,
        .mark = *mark,
    };
    peer->offer_count++;
    list_append(&remote->offers, &theirs->node);
    return true;
}

/* The frame has not been taken yet, so the arrival and its peer outlast the control messages that
 * are handled while the mark is mapped. */
static void their_offer_keep(struct ripc_service *service, struct arrival *arrival,
                             const struct message_offer *offer)
{
    struct peer *peer = arrival->peer;
    struct transport_link *link = peer->links[arrival->transport];
    struct mapping mark = {0};
    int result = peer->state == PEER_DEAD ? -EPIPE : mark_map(link, &offer->mark, &mark);
    bool withdrawn = id_map_take(&arrival->withdrawn, offer->number) ||
                     (result == 0 && !mark_stands(&mark, offer->number));
    if (peer->state != PEER_DEAD && !withdrawn) {
        if (result == 0 && their_offer_add(service, arrival, offer, &mark))
            return;
        their_offer_refuse(peer, arrival->pipe, arrival->from, offer->number);
    }
    mark_unmap(link, &mark);
}

void their_offers_keep(struct ripc_service *service, struct arrival *arrival,
                       const struct message_offer *offers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        their_offer_keep(service, arrival, &offers[i]);
}

/* Removes the offer from its list and frees it. Its peer must still exist. */
static void their_offer_delete(struct their_offer *theirs)
{
    theirs->peer->offer_count--;
    mark_unmap(their_link(theirs), &theirs->mark);
    list_remove(&theirs->node);
    free(theirs);
}

void their_offer_free(struct their_offer *theirs)
{
    struct peer *peer = theirs->peer;
    their_offer_delete(theirs);
    peer->users--;
    peer_settle(peer);
}

void their_offer_give_up(const struct remote *remote, struct their_offer *theirs)
{
    mark_give_back(&theirs->mark, theirs->offer.number);
    their_offer_refuse(theirs->peer, theirs->pipe, remote->id, theirs->offer.number);
    their_offer_free(theirs);
}

void their_offer_put_back(struct remote *remote, struct their_offer *theirs)
{
    if (theirs->peer->state == PEER_DEAD) {
        their_offer_free(theirs);
        return;
    }
    mark_give_back(&theirs->mark, theirs->offer.number);
    theirs->peer->users--;
    list_append(&remote->offers, &theirs->node);
}

/* Considers only offers of the process to which we are about to send. */
struct their_offer *their_offer_take(struct remote *remote, uint64_t size)
{
    list_each(&remote->offers, node)
    {
        struct their_offer *theirs = container_of(node, struct their_offer, node);
        if (theirs->peer->address.context != remote->peer->address.context ||
            theirs->offer.memory.size < size)
            continue;
        if (!mark_take(&theirs->mark, theirs->offer.number)) {
            their_offer_delete(theirs); /* it was withdrawn */
            continue;
        }
        theirs->peer->users++;
        list_remove(node);
        return theirs;
    }
    return NULL;
}

static void their_offers_drop_of(struct remote *remote, const struct peer *peer)
{
    list_each(&remote->offers, node)
    {
        struct their_offer *theirs = container_of(node, struct their_offer, node);
        if (!peer || theirs->peer == peer)
            their_offer_delete(theirs);
    }
}

void their_offers_forget(struct peer *peer)
{
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&peer->ripc->services, &cursor))) {
        size_t inner = 0;
        struct remote *remote;
        while ((remote = id_map_next(&service->remotes, &inner)))
            their_offers_drop_of(remote, peer);
    }
}

void their_offers_drop(struct remote *remote)
{
    their_offers_drop_of(remote, NULL);
}

/* ---- withdrawing ---- */

static bool their_offer_find(struct remote *remote, const struct peer *peer, uint64_t number)
{
    list_each(&remote->offers, node)
    {
        struct their_offer *theirs = container_of(node, struct their_offer, node);
        if (theirs->peer == peer && theirs->offer.number == number) {
            their_offer_delete(theirs);
            return true;
        }
    }
    return false;
}

/* Has the frame in which the buffer was offered not been taken yet? Then the offer is not kept when
 * it is. */
static bool their_offer_prevent(struct peer *peer, const struct control_words *words)
{
    struct arrival *arrival = arrival_of_pipe(peer, words->pipe);
    return arrival && arrival->service->id == words->to && arrival->from == words->from &&
           words->memory.address >= arrival_taken(arrival) &&
           arrival->withdrawn.count < THEIR_OFFERS_MAX &&
           id_map_put(&arrival->withdrawn, words->number, arrival);
}

static bool their_offer_is_refused(struct peer *peer, const struct control_words *words)
{
    struct arrival *arrival = arrival_of_pipe(peer, words->pipe);
    return arrival && id_map_take(&arrival->refused, words->number);
}

/* Removes the offer if it is still in a list, or has not been received; then no item can be written
 * into it any more. Nor is one written into an offer that was refused. Any other offer counts as
 * used: an item is being written into it, or its message is on the way. */
void their_offer_withdraw(struct peer *peer, struct control_words *words)
{
    struct control_words answer = {
        .kind = CONTROL_WITHDRAWN,
        .number = words->number,
        .status = -EALREADY,
    };
    struct ripc_service *service = id_map_get(&peer->ripc->services, words->to);
    struct remote *remote = service ? id_map_get(&service->remotes, words->from) : NULL;
    if (!service || (remote && their_offer_find(remote, peer, words->number)) ||
        their_offer_is_refused(peer, words) || their_offer_prevent(peer, words))
        answer.status = 0;
    answer.to = words->from;
    if (!words->item)
        peer_answer(peer, &answer);
}

/* If two questions waited for the peer, it answers the first with 0 and the second, when the offer
 * does not exist there any more, with -EALREADY. */
void offer_withdrawn(struct peer *peer, struct control_words *words)
{
    struct ripc_service *service = id_map_get(&peer->ripc->services, words->to);
    struct offer *offer = service ? id_map_get(&service->offers, words->number) : NULL;
    if (!offer || offer->peer != peer || (offer->settled && offer->status == 0))
        return;
    if (offer->allocated && words->status == 0) { /* the program does not know its address */
        offer_free(offer, 0);
        return;
    }
    offer->settled = true;
    offer->status = words->status ? -EALREADY : 0;
    doorbell_ring(&service->bell);
}

static struct offer *offer_of_base(struct ripc_service *service, const void *base)
{
    size_t cursor = 0;
    struct offer *offer;
    while ((offer = id_map_next(&service->offers, &cursor)))
        if (offer->base == base)
            return offer;
    return NULL;
}

/* No peer writes into the buffer any more. */
static bool offer_is_free(const struct offer *offer)
{
    return offer->peer->state == PEER_DEAD || (offer->settled && offer->status == 0);
}

static int offer_check(void *argument)
{
    const struct offer_wait *wait = argument;
    const struct offer *offer = wait->offer;
    if (!offer || offer_is_free(offer))
        return 1;
    return offer->settled ? offer->status : 0;
}

static int offer_say(const struct offer *offer, bool answer)
{
    return peer_say(offer->peer, &(struct control_words){.kind = CONTROL_WITHDRAW,
                                                         .pipe = offer->pipe,
                                                         .from = offer->service->id,
                                                         .to = offer->to,
                                                         .number = offer->number,
                                                         .item = !answer,
                                                         .memory.address = offer->frame});
}

/* The peer cannot take the buffer any more. It may forget the offer, unless it does not read: what
 * it has not been told it finds out by the mark. */
static void offer_tell_withdrawn(const struct offer *offer)
{
    if (offer->peer->state == PEER_UP && !lifeline_queued(offer->peer->line))
        (void)!offer_say(offer, false);
}

/* If the connection is broken, the wait ends when that is noticed: the peer is dead then. */
static int offer_ask(struct ripc_service *service, struct offer *offer, int64_t deadline)
{
    struct offer_wait wait = {.offer = offer};
    list_append(&offer->waits, &wait.node);
    offer->settled = false;
    int result = offer_say(offer, true);
    if (result == 0 || result == -EPIPE)
        result = service_wait(service, offer_check, &wait, deadline);
    if (!wait.offer)
        return wait.result;
    list_remove(&wait.node);
    if (result != 1)
        return result;
    offer_free(wait.offer, -ENOENT);
    return 0;
}

static int offer_withdraw(struct ripc_service *service, const void *base, int64_t deadline)
{
    struct offer *offer = offer_of_base(service, base);
    if (!offer)
        return -ENOENT;
    if (!offer_is_free(offer)) {
        if (!offer->mark)
            return offer_ask(service, offer, deadline);
        if (!mark_withdraw(offer->mark, offer->number))
            return -EALREADY;
        offer_tell_withdrawn(offer);
    }
    offer_free(offer, -ENOENT);
    return 0;
}

int ripc_withdraw(struct ripc_service *service, void *base, int64_t deadline)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = offer_withdraw(service, base, deadline);
    lock_drop(&ripc->lock);
    return result;
}
