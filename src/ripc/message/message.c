#include "ripc/message/message.h"

#include <errno.h>
#include <weft/ripc.h>

#include "base/bytes.h"
#include "base/check.h"

static void memory_write(struct writer *out, const struct remote_memory *memory)
{
    write_u64(out, memory->key);
    write_u64(out, memory->address);
    write_u64(out, memory->size);
}

static void memory_read(struct reader *in, struct remote_memory *memory)
{
    memory->key = read_u64(in);
    memory->address = read_u64(in);
    memory->size = read_u64(in);
}

/* A returned item has no `memory`, only a size; its number is in the field of the key. */
static void item_write(struct writer *out, const struct message_item *item)
{
    struct remote_memory memory = item->memory;
    if (item->way == ITEM_RETURNED)
        memory = (struct remote_memory){.key = item->number};
    write_u8(out, (uint8_t)item->way);
    write_u64(out, item->size);
    memory_write(out, &memory);
}

static bool item_read(struct reader *in, struct message_item *item)
{
    unsigned way = read_u8(in);
    item->way = way == ITEM_RETURNED ? ITEM_RETURNED : ITEM_PULL;
    item->size = read_u64(in);
    memory_read(in, &item->memory);
    item->number = item->memory.key;
    if (way == ITEM_PULL)
        return item->memory.size == item->size;
    return way == ITEM_RETURNED;
}

static void offer_write(struct writer *out, const struct message_offer *offer)
{
    write_u64(out, offer->number);
    memory_write(out, &offer->memory);
    write_u64(out, offer->mark.key);
    write_u64(out, offer->mark.address);
}

static void offer_read(struct reader *in, struct message_offer *offer)
{
    offer->number = read_u64(in);
    memory_read(in, &offer->memory);
    offer->mark.key = read_u64(in);
    offer->mark.address = read_u64(in);
    offer->mark.size = offer->mark.key ? MESSAGE_MARK_SIZE : 0;
}

size_t message_table_write(const struct message_head *head, const struct message_table *table,
                           uint8_t out[MESSAGE_TABLE_MAX])
{
    if (message_is_plain(head))
        return 0;
    struct writer writer = writer_make(out, MESSAGE_TABLE_MAX);
    for (unsigned i = 0; i < head->short_count; i++)
        write_u16(&writer, table->short_sizes[i]);
    for (unsigned i = 0; i < head->long_count; i++)
        item_write(&writer, &table->items[i]);
    for (unsigned i = 0; i < head->return_count; i++)
        offer_write(&writer, &table->offers[i]);
    assert(!writer.failed);
    return MESSAGE_TABLE_MAX - writer.left;
}

int message_table_read(const struct message_head *head, const uint8_t *body, size_t size,
                       struct message_table *table)
{
    if (head->short_count > MESSAGE_COUNT_MAX || head->long_count > MESSAGE_COUNT_MAX ||
        head->return_count > MESSAGE_COUNT_MAX)
        return -EPROTO;
    if (message_is_plain(head)) {
        if (size > RIPC_SHORT_MAX)
            return -EPROTO;
        table->short_sizes[0] = (uint16_t)size;
        return 0;
    }
    struct reader in = reader_make(body, size);
    size_t shorts = 0;
    bool good = true;
    for (unsigned i = 0; i < head->short_count; i++)
        shorts += table->short_sizes[i] = read_u16(&in);
    for (unsigned i = 0; i < head->long_count; i++)
        good &= item_read(&in, &table->items[i]);
    for (unsigned i = 0; i < head->return_count; i++)
        offer_read(&in, &table->offers[i]);
    if (in.failed || !good || shorts != in.left)
        return -EPROTO;
    return (int)(size - in.left);
}

void message_notify_write(uint8_t out[NOTIFY_SIZE], uint64_t token, uint64_t value)
{
    struct writer writer = writer_make(out, NOTIFY_SIZE);
    write_u64(&writer, token);
    write_u64(&writer, value);
}

int message_notify_read(const uint8_t *body, size_t size, uint64_t *token, uint64_t *value)
{
    struct reader in = reader_make(body, size);
    *token = read_u64(&in);
    *value = read_u64(&in);
    return in.failed || in.left ? -EPROTO : 0;
}
