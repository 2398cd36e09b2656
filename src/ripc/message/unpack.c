#include "ripc/message/unpack.h"

#include <errno.h>

#include "ripc/message/incoming.h"
#include "ripc/message/offer.h"

static int unpack_table(struct arrival *arrival, const struct message_head *head,
                        const struct frame *frame, struct ripc_message *out)
{
    struct message_table table;
    struct incoming *incoming = arrival->incoming;
    int offset = message_table_read(head, frame->body, frame->size, &table);
    if (offset < 0) {
        /* The table was valid when its items were requested, and has been changed since: drop
         * it. */
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
            their_offers_refuse(arrival, table.offers, head->return_count);
            if (head->token)
                arrival_acknowledge(arrival, head->token, canceled ? -ECANCELED : -ENOMEM);
            return 0;
        }
    }
    if (incoming && !incoming_is_ready(incoming))
        return -EAGAIN;
    if (head->return_count)
        their_offers_keep(arrival->service, arrival, table.offers, head->return_count);
    unpack_plain(arrival, frame, out);
    out->short_count = head->short_count;
    out->long_count = head->long_count;
    out->return_count = head->return_count;
    out->data = frame->body + offset;
    out->size = frame->size - (uint32_t)offset;
    out->longs = incoming ? incoming->items : NULL;
    out->internal[2] = incoming;
    if (incoming)
        incoming->delivered = true;
    arrival->incoming = NULL;
    return 1;
}

/* A program can make its library send a notification to a service of another process: by a handle
 * with a wrong id and RIPC_NOW, with which ripc_notify does not ask first. That breaks no rule, and
 * must not end the connection that other services of the sender use. */
static int unpack_notice(struct arrival *arrival, const struct frame *frame)
{
    struct ripc_service *service = arrival->service;
    if (!service->notified) {
        service->ripc->stats.dropped_unknown++;
        return 0;
    }
    return service->notified(arrival->peer, frame->body, frame->size);
}

int unpack_other(struct arrival *arrival, const struct message_head *head,
                 const struct frame *frame, struct ripc_message *out)
{
    switch (head->kind) { /* chosen by the peer: may be any number */
    case FRAME_MESSAGE:
        return unpack_table(arrival, head, frame, out);
    case FRAME_NOTIFY:
        return unpack_notice(arrival, frame);
    default:
        return -EPROTO;
    }
}
