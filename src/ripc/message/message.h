#pragma once
/* message: the layout of a message in a frame. Pure.
 *
 * A frame with one short item and nothing else consists of that item. Any other frame begins with a
 * table: the sizes of the short items, a description of each long item, and the return buffers that
 * are offered; then come the short items. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "transport/transport.h"

enum frame_kind {
    FRAME_MESSAGE = 1,
    FRAME_NOTIFY, /* body: token and value of a notification */
};

enum item_way {
    ITEM_PULL = 1, /* the receiver reads it from `memory` */
    ITEM_RETURNED, /* it was written into the receiver's return buffer `number` */
};

struct message_item {
    enum item_way way;
    uint64_t size;
    uint64_t number;
    struct remote_memory memory;
};

#define MESSAGE_MARK_SIZE 8

/* A return buffer that is offered. */
struct message_offer {
    uint64_t number; /* random, chosen by the offerer */
    struct remote_memory memory;
    struct remote_memory mark; /* the word that decides who has the buffer (ripc/message/mark.h);
                                * key 0: none, and then the rest is 0, too */
};

#define MESSAGE_COUNT_MAX 64
#define MESSAGE_TABLE_MAX (MESSAGE_COUNT_MAX * (2 + 33 + 48))

struct message_table {
    uint16_t short_sizes[MESSAGE_COUNT_MAX];
    struct message_item items[MESSAGE_COUNT_MAX];
    struct message_offer offers[MESSAGE_COUNT_MAX];
};

/* ripc's part of the head of a frame. */
struct message_head {
    uint64_t group; /* 0, or the group to which the message was sent */
    uint64_t token; /* 0, or the token of an operation that expects an acknowledgement */
    uint16_t kind;  /* enum frame_kind; from a peer, any value */
    uint8_t short_count;
    uint8_t long_count;
    uint8_t return_count;
};

static inline struct frame_head message_head_write(const struct message_head *head)
{
    return (struct frame_head){
        .user = head->group,
        .token = head->token,
        .kind = head->kind,
        .user_bytes = {head->short_count, head->long_count, head->return_count},
    };
}

/* For a frame from a peer: message_table_read checks the counts, the caller checks the kind. */
static inline struct message_head message_head_read(const struct frame_head *head)
{
    return (struct message_head){
        .group = head->user,
        .token = head->token,
        .kind = head->kind,
        .short_count = head->user_bytes[0],
        .long_count = head->user_bytes[1],
        .return_count = head->user_bytes[2],
    };
}

/* The head of a message that consists of its only short item. A constant in memory: compilers write
 * a local one to the stack field by field and then read several fields at once, and such a read
 * waits until all earlier writes have reached the cache (5 % of a round trip of 64 bytes). */
static const struct frame_head message_head_plain = {.kind = FRAME_MESSAGE, .user_bytes = {1}};

/* True if the frame is such a message: all that follows its token is as the sender of such a
 * message writes it. One comparison; a frame that a peer wrote differently is handled by the
 * general way. */
static inline bool message_frame_is_plain(const struct frame_head *head)
{
    return memcmp(&head->kind, &message_head_plain.kind,
                  sizeof *head - offsetof(struct frame_head, kind)) == 0;
}

/* The same for a head that was read. */
static inline bool message_is_plain(const struct message_head *head)
{
    return head->short_count == 1 && !head->long_count && !head->return_count;
}

/* Returns the size of the table for the head's counts. */
static inline size_t message_table_size(const struct message_head *head)
{
    return message_is_plain(head)
               ? 0
               : 2u * head->short_count + 33u * head->long_count + 48u * head->return_count;
}

/* Writes the table for the head's counts. Returns its size. */
size_t message_table_write(const struct message_head *head, const struct message_table *table,
                           uint8_t out[MESSAGE_TABLE_MAX]);

/* Reads the table from a body that a peer wrote. Returns its size (where the short items begin), or
 * -EPROTO if the counts, the sizes and the body do not match. */
int message_table_read(const struct message_head *head, const uint8_t *body, size_t size,
                       struct message_table *table);

/* The body of a notification. */
#define NOTIFY_SIZE 16
void message_notify_write(uint8_t out[NOTIFY_SIZE], uint64_t token, uint64_t value);
int message_notify_read(const uint8_t *body, size_t size, uint64_t *token, uint64_t *value);
