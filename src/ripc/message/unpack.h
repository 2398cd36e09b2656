#pragma once
/* unpack: from a frame to a message of the program. A frame that is one short item is filled in
 * directly; a frame with a table of long items or return buffers needs more. */

#include "ripc/message/arrival.h"
#include "ripc/message/message.h"

/* Fills in the message of a frame that is one short item. */
static inline void unpack_plain(struct arrival *arrival, const struct frame *frame,
                                struct ripc_message *out)
{
    ripc_id group = frame->head.user;
    *out = (struct ripc_message){
        .from = arrival->from,
        .to = group ? group : arrival->service->id,
        .data = frame->body,
        .size = frame->size,
        .short_count = 1,
        .internal = {arrival, (void *)frame->body, NULL},
        .cookie = frame->cookie,
    };
}

/* Unpacks a frame with a table. 1: taken; 0: not a message, or dropped; -EAGAIN: its items are on
 * their way; -EPROTO: malformed. */
int unpack_other(struct arrival *arrival, const struct message_head *head,
                 const struct frame *frame, struct ripc_message *out);
