#pragma once
/* message: how a message lies in a frame. Pure.
 *
 * A frame with one short item and nothing else is that item. Any other begins
 * with a table: the sizes of the short items, what is to be known of each long
 * item, the return buffers that are offered; then come the short items. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A return buffer on offer. */
struct message_offer {
    uint64_t number; /* the offerer's own, random */
    struct remote_memory memory;
};

#define MESSAGE_COUNT_MAX 64
#define MESSAGE_TABLE_MAX (MESSAGE_COUNT_MAX * (2 + 33 + 32))

struct message_table {
    uint16_t short_sizes[MESSAGE_COUNT_MAX];
    struct message_item items[MESSAGE_COUNT_MAX];
    struct message_offer offers[MESSAGE_COUNT_MAX];
};

/* Is the frame its only short item? */
static inline bool message_is_plain(const struct frame_head *head)
{
    return head->short_count == 1 && !head->long_count && !head->return_count;
}

/* How large the table is that the head's counts ask for. */
static inline size_t message_table_size(const struct frame_head *head)
{
    return message_is_plain(head)
               ? 0
               : 2u * head->short_count + 33u * head->long_count + 32u * head->return_count;
}

/* Writes the table that the head's counts ask for. Returns its size. */
size_t message_table_write(const struct frame_head *head, const struct message_table *table,
                           uint8_t out[MESSAGE_TABLE_MAX]);

/* Reads it from a body that a peer wrote. Returns its size (where the short
 * items begin), or -EPROTO if the counts, the sizes and the body do not agree. */
int message_table_read(const struct frame_head *head, const uint8_t *body, size_t size,
                       struct message_table *table);

/* A notification's body. */
#define NOTIFY_SIZE 16
void message_notify_write(uint8_t out[NOTIFY_SIZE], uint64_t token, uint64_t value);
int message_notify_read(const uint8_t *body, size_t size, uint64_t *token, uint64_t *value);
