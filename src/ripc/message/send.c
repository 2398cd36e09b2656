/* send: from the caller's pieces to frames on their way.
 *
 * Most sends are one short item to a service with an open pipe, and take the first few lines of
 * ripc_send. All others are prepared step by step: a path to the receiver, credit, the long items'
 * memory shared or written into return buffers, and an operation; then the frame is pushed. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "ripc/group/group.h"
#include "ripc/message/message.h"
#include "ripc/message/offer.h"
#include "ripc/message/operation.h"

/* A message to one receiver, ready to be pushed. */
struct sending {
    struct ripc_service *service;
    const struct ripc_send *send;
    size_t short_size;
    struct operation *operation;
    struct remote *starved; /* the last receiver that could not accept it yet */
    struct list filled;     /* return buffers (struct their_offer) that hold items of this
                             * message */
    struct message_table table;
    struct message_head head;
    uint8_t bytes[MESSAGE_TABLE_MAX];
    int64_t result;
};

/* ---- checks ---- */

static int send_check(const struct ripc_send *send, size_t *short_size)
{
    if (send->to == 0)
        return -EINVAL;
    if (send->short_count > RIPC_ITEM_MAX || send->long_count > RIPC_ITEM_MAX ||
        send->return_count > RIPC_ITEM_MAX)
        return -EMSGSIZE;
    *short_size = 0;
    for (unsigned i = 0; i < send->short_count; i++) {
        if (send->shorts[i].iov_len > RIPC_SHORT_MAX - *short_size)
            return -EMSGSIZE;
        *short_size += send->shorts[i].iov_len;
    }
    struct message_head head = {
        .short_count = (uint8_t)send->short_count,
        .long_count = (uint8_t)send->long_count,
        .return_count = (uint8_t)send->return_count,
    };
    if (*short_size + message_table_size(&head) > RIPC_SHORT_MAX)
        return -EMSGSIZE;
    return 0;
}

/* Marks the memory of the long items as used; on failure none is marked. */
static int send_use(struct ripc_service *service, const struct ripc_send *send)
{
    struct pool *pool = service->ripc->pool;
    for (unsigned i = 0; i < send->long_count; i++)
        if (!pool_use(pool, send->longs[i].iov_base, send->longs[i].iov_len)) {
            while (i-- > 0)
                pool_unuse(pool, send->longs[i].iov_base);
            return -EFAULT;
        }
    return 0;
}

static void send_unuse(struct ripc_service *service, const struct ripc_send *send)
{
    for (unsigned i = 0; i < send->long_count; i++)
        pool_unuse(service->ripc->pool, send->longs[i].iov_base);
}

/* ---- long items ---- */

struct send_write {
    struct transfer transfer;
    bool done;
    int status;
    struct doorbell *bell;
};

static void send_written(struct transfer *transfer, int status)
{
    struct send_write *write = container_of(transfer, struct send_write, transfer);
    write->done = true;
    write->status = status;
    doorbell_ring(write->bell);
}

static int send_check_written(void *argument)
{
    const struct send_write *write = argument;
    return write->done;
}

/* Writes an item into the receiver's return buffer, and waits until it has arrived. */
static int send_item_write(struct ripc_service *service, const struct iovec *item,
                           const struct their_offer *theirs, struct extent *extent)
{
    struct ripc *ripc = service->ripc;
    struct send_write write = {.transfer.done = send_written, .bell = &service->bell};
    struct transport_link *link = theirs->peer->links[theirs->transport];
    struct region *region;
    if (item->iov_len == 0)
        return 0;
    int result = context_region(ripc, theirs->transport, extent, &region);
    if (result)
        return result;
    result = link->ops->memory->write(link, &theirs->offer.memory, 0, item->iov_base, item->iov_len,
                                      region, &write.transfer);
    if (result == 0 && !write.done) /* the transfer is on our stack: no deadline may end this
                                     * wait */
        waiting_until(ripc, write.bell, send_check_written, &write, RIPC_FOREVER);
    if (result == 0)
        result = write.status;
    return result == 1 ? 0 : result;
}

/* Writes an item into a return buffer if the receiver offered one that holds it; else describes it,
 * for the receiver to pull. */
static int send_item(struct sending *sending, struct remote *remote, const struct iovec *item,
                     struct message_item *wire)
{
    struct ripc *ripc = remote->service->ripc;
    struct extent *extent = pool_find(ripc->pool, item->iov_base, item->iov_len);
    struct region *region;
    struct their_offer *theirs;
    *wire = (struct message_item){.size = item->iov_len};
    int result = extent ? context_region(ripc, remote->transport, extent, &region) : -EFAULT;
    if (result)
        return result;
    while ((theirs = their_offer_take(remote, item->iov_len))) {
        result = send_item_write(remote->service, item, theirs, extent);
        trace_event(ripc->trace, TRACE_PUSH, remote->service->id, remote->id,
                    result ? result : (int64_t)item->iov_len);
        wire->way = ITEM_RETURNED;
        wire->number = theirs->offer.number;
        if (result)
            their_offer_give_up(remote, theirs); /* the buffer is no longer valid: try another, or
                                                  * let the receiver pull */
        else
            list_append(&sending->filled, &theirs->node);
        if (remote->state == REMOTE_HELD) /* the receiver retires: send to the next holder */
            return -EAGAIN;
        if (result == -EPIPE || remote->state != REMOTE_OPEN)
            return -EPIPE;
        if (result == 0)
            return 0;
    }
    wire->way = ITEM_PULL;
    return remote->link->ops->memory->share(remote->link, region, item->iov_base, item->iov_len,
                                            MEMORY_READ, &wire->memory);
}

/* ---- one receiver ---- */

static int send_describe(struct sending *sending, struct remote *remote)
{
    const struct ripc_send *send = sending->send;
    for (unsigned i = 0; i < send->short_count; i++)
        sending->table.short_sizes[i] = (uint16_t)send->shorts[i].iov_len;
    for (unsigned i = 0; i < send->long_count; i++) {
        int result = send_item(sending, remote, &send->longs[i], &sending->table.items[i]);
        if (result)
            return result;
    }
    return offers_make(remote, send->returns, send->return_count, sending->table.offers);
}

static int send_push(struct sending *sending, struct remote *remote)
{
    const struct ripc_send *send = sending->send;
    struct iovec pieces[RIPC_ITEM_MAX + 1];
    unsigned count = 0;
    size_t table_size = message_table_write(&sending->head, &sending->table, sending->bytes);
    if (table_size)
        pieces[count++] = (struct iovec){sending->bytes, table_size};
    for (unsigned i = 0; i < send->short_count; i++)
        pieces[count++] = send->shorts[i];
    struct frame_head head = message_head_write(&sending->head);
    return remote->outlet->ops->push(remote->outlet, &head, pieces, count);
}

static bool send_has_pull(const struct sending *sending)
{
    for (unsigned i = 0; i < sending->send->long_count; i++)
        if (sending->table.items[i].way == ITEM_PULL)
            return true;
    return false;
}

static void send_count(struct sending *sending, const struct remote *remote)
{
    struct ripc *ripc = sending->service->ripc;
    const struct ripc_send *send = sending->send;
    ripc->stats.sent++;
    ripc->stats.sent_bytes += sending->short_size;
    ripc->stats.long_sent += send->long_count;
    for (unsigned i = 0; i < send->long_count; i++)
        ripc->stats.long_sent_bytes += send->longs[i].iov_len;
    trace_event(ripc->trace, send->long_count ? TRACE_SEND_LONG : TRACE_SEND, sending->service->id,
                remote->id, (int64_t)sending->short_size);
}

static bool send_has_room(const struct sending *sending, const struct remote *remote)
{
    size_t size = sending->short_size + message_table_size(&sending->head);
    return remote->outlet->ops->room(remote->outlet, size);
}

/* Pushes a message that is completely described. If the receiver has to pull items, the operation
 * of this send waits for the receiver's acknowledgement. */
static int send_go(struct sending *sending, struct remote *remote, unsigned receivers)
{
    const struct ripc_send *send = sending->send;
    bool wants_operation = send_has_pull(sending);
    if (wants_operation && !sending->operation) {
        sending->operation = operation_new(sending->service, send->to, send->user, send->longs,
                                           send->long_count, receivers);
        if (!sending->operation)
            return -ENOMEM;
    }
    sending->head.token = wants_operation ? (uint64_t)sending->operation->number : 0;
    int result = send_push(sending, remote);
    if (result)
        return result;
    if (wants_operation)
        operation_fly(sending->operation, remote);
    send_count(sending, remote);
    return 0;
}

/* Return buffers that were filled for a message that was not sent can be filled again. */
static void send_settle_filled(struct sending *sending, struct remote *remote, bool sent)
{
    struct list *node;
    while ((node = list_take(&sending->filled))) {
        struct their_offer *theirs = container_of(node, struct their_offer, node);
        if (sent)
            their_offer_free(theirs);
        else
            their_offer_put_back(remote, theirs);
    }
}

/* 0: sent; -EAGAIN: no credit. If the message was not sent, nothing of it remains. */
static int send_to(struct sending *sending, struct remote *remote, unsigned receivers)
{
    const struct ripc_send *send = sending->send;
    if (!send_has_room(sending, remote))
        return -EAGAIN;
    remote->users++;
    int result = send_describe(sending, remote);
    if (result == 0) {
        result = send_go(sending, remote, receivers);
        if (result)
            offers_unmake(sending->service, sending->table.offers, send->return_count);
    }
    send_settle_filled(sending, remote, result == 0);
    if (result && sending->operation && sending->operation->flown == 0) {
        operation_undo(sending->operation);
        sending->operation = NULL;
    }
    remote->users--;
    return result;
}

/* The call ends without having sent: an event will tell when to try again. */
static void send_starve(struct sending *sending)
{
    struct remote *remote = sending->starved;
    if (!remote)
        return;
    if (!remote->starved)
        sending->service->starved++;
    remote->starved = true;
    remote->starved_for = (uint32_t)(sending->short_size + message_table_size(&sending->head));
}

static int send_single(struct sending *sending)
{
    struct remote *remote;
    int result = remote_get(sending->service, sending->send->to, &remote);
    if (result == 0)
        result = remote_advance(remote);
    if (result == 0) {
        sending->service->remote_last = remote;
        result = send_to(sending, remote, 1);
        if (result == -EAGAIN)
            sending->service->ripc->stats.no_credit++;
        if (result == -EPROTO)
            peer_condemn(remote->peer);
    }
    if (result == -EAGAIN)
        sending->starved = remote;
    return result;
}

/* ---- a group ---- */

/* Sends to every member or, while one lacks credit, to none. Members that are unreachable are left
 * out. */
static int send_group(struct sending *sending, struct group *group)
{
    struct remote *ready[GROUP_MEMBERS_MAX];
    unsigned count = 0;
    if (sending->send->return_count)
        return -EINVAL;
    for (unsigned i = 0; i < group->count; i++) {
        struct remote *remote;
        int result = remote_get(sending->service, group->members[i], &remote);
        if (result == 0 && (remote->state == REMOTE_HELD || remote->moving))
            continue; /* it has retired, and so left the group */
        if (result == 0)
            result = remote_advance(remote);
        if (result == -EAGAIN || (result == 0 && !send_has_room(sending, remote))) {
            sending->starved = remote;
            return -EAGAIN;
        }
        if (lifeline_lacks(result))
            return result; /* the member probably lives */
        if (result == 0)
            ready[count++] = remote;
    }
    if (count == 0)
        return -ENOENT;
    unsigned reached = 0;
    int failure = -EPIPE;
    sending->head.group = group->id;
    for (unsigned i = 0; i < count; i++)
        ready[i]->users++; /* writing into a return buffer waits, and the remote could be freed
                            * meanwhile */
    for (unsigned i = 0; i < count; i++) {
        int result = ready[i]->state == REMOTE_OPEN ? send_to(sending, ready[i], count) : -EPIPE;
        ready[i]->users--;
        if (result == -EPROTO && ready[i]->peer)
            peer_condemn(ready[i]->peer);
        if (result == 0)
            reached++;
        else
            failure = result;
    }
    return reached ? 0 : failure;
}

/* ---- the calls ---- */

static int send_try(void *argument)
{
    struct sending *sending = argument;
    struct ripc_service *service = sending->service;
    struct group *group = NULL;
    sending->starved = NULL;
    sending->head.group = 0;
    /* An id that is not a service may have become a group. */
    const struct remote *remote = id_map_get(&service->remotes, sending->send->to);
    if (!remote || (remote->state <= REMOTE_RESOLVING && !remote->moving))
        group = group_find(service, sending->send->to);
    int result = group ? send_group(sending, group) : send_single(sending);
    if (result == -EAGAIN)
        return 0;
    sending->result = result;
    return 1;
}

static int64_t send_wait(struct sending *sending)
{
    const struct ripc_send *send = sending->send;
    int result = send_use(sending->service, send);
    if (result)
        return result;
    result = service_wait(sending->service, send_try, sending, send->deadline);
    if (result == 1)
        result = (int)sending->result;
    if (result == -EAGAIN && send->deadline == RIPC_NOW)
        send_starve(sending);
    struct operation *operation = sending->operation;
    if (!operation) {
        send_unuse(sending->service, send);
        return result;
    }
    assert(result == 0);
    operation_launch(operation); /* it may complete here; it exists until its outcome is taken */
    return operation->number;
}

int64_t ripc_send_message(struct ripc_service *service, const struct ripc_send *send)
{
    struct sending sending; /* large: only fields that are read before being written are set */
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    sending.service = service;
    sending.send = send;
    sending.operation = NULL;
    sending.starved = NULL;
    list_init(&sending.filled);
    int result = send_check(send, &sending.short_size);
    if (result)
        return result;
    sending.head = (struct message_head){
        .kind = FRAME_MESSAGE,
        .short_count = (uint8_t)send->short_count,
        .long_count = (uint8_t)send->long_count,
        .return_count = (uint8_t)send->return_count,
    };
    lock_take(&service->ripc->lock);
    int64_t number = send_wait(&sending);
    lock_drop(&service->ripc->lock);
    return number;
}

int ripc_send(struct ripc_service *service, ripc_id to, const void *data, size_t size,
              int64_t deadline)
{
    struct ripc *ripc = service->ripc;
    struct iovec piece = {(void *)data, size};
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    struct remote *remote = service->remote_last;
    if (remote && remote->id == to && remote->state == REMOTE_OPEN && size <= RIPC_SHORT_MAX &&
        remote->outlet->ops->push(remote->outlet, &message_head_plain, &piece, 1) == 0) {
        ripc->stats.sent++;
        ripc->stats.sent_bytes += size;
        trace_event(ripc->trace, TRACE_SEND, service->id, to, (int64_t)size);
        lock_drop(&ripc->lock);
        return 0;
    }
    lock_drop(&ripc->lock);
    struct ripc_send send = {.to = to, .shorts = &piece, .short_count = 1, .deadline = deadline};
    return (int)ripc_send_message(service, &send);
}
