/* Tests the table in front of a message, as a peer wrote it: the table is refused, or describes
 * items inside the frame and is the same when read again. The input is the three counts and the
 * body. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "ripc/message/message.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool memory_equal(const struct remote_memory *one, const struct remote_memory *other)
{
    return one->key == other->key && one->address == other->address && one->size == other->size;
}

static void check_same(const struct message_head *head, const struct message_table *one,
                       const struct message_table *other)
{
    for (unsigned i = 0; i < head->long_count; i++) {
        const struct message_item *left = &one->items[i], *right = &other->items[i];
        assert(left->way == right->way && left->size == right->size);
        assert(left->way == ITEM_PULL ? memory_equal(&left->memory, &right->memory)
                                      : left->number == right->number);
    }
    for (unsigned i = 0; i < head->return_count; i++) {
        assert(one->offers[i].number == other->offers[i].number);
        assert(memory_equal(&one->offers[i].memory, &other->offers[i].memory));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message_table table, again;
    uint8_t bytes[MESSAGE_TABLE_MAX + FRAME_BODY_MAX];
    uint64_t token, value;
    if (size < 3 || size > 3 + FRAME_BODY_MAX)
        return 0;
    struct message_head head = {
        .short_count = data[0], .long_count = data[1], .return_count = data[2]};
    data += 3;
    size -= 3;
    assert(message_notify_read(data, size, &token, &value) == (size == NOTIFY_SIZE ? 0 : -EPROTO));
    int offset = message_table_read(&head, data, size, &table);
    assert(offset >= 0 || offset == -EPROTO);
    if (offset < 0)
        return 0;
    size_t shorts = 0;
    for (unsigned i = 0; i < head.short_count; i++)
        shorts += table.short_sizes[i];
    assert((size_t)offset == message_table_size(&head) && offset + shorts == size);
    assert(message_table_write(&head, &table, bytes) == (size_t)offset);
    if (shorts)
        memcpy(bytes + offset, data + offset, shorts);
    assert(message_table_read(&head, bytes, size, &again) == offset);
    assert(memcmp(table.short_sizes, again.short_sizes, 2u * head.short_count) == 0);
    check_same(&head, &table, &again);
    return 0;
}
