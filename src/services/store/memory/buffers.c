/* buffers: see the header. The other half of a block, its *buddy*, begins where the block's offset
 * has one bit flipped. At that place there is always the head of a block, of this order or of a
 * lower one. */
#include "services/store/memory/buffers.h"

#include <stddef.h>

#include "base/check.h"
#include "services/store/memory/room.h"

static uint64_t block_size(unsigned order)
{
    return (uint64_t)BUFFER_LEAST << order;
}

static void give(struct buffers *buffers, struct buffer *block, unsigned order)
{
    block->holders = 0;
    block->order = (uint8_t)order;
    block->previous = NULL;
    block->next = buffers->free[order];
    if (block->next)
        block->next->previous = block;
    buffers->free[order] = block;
}

static void take(struct buffers *buffers, struct buffer *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        buffers->free[block->order] = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

void buffers_init(struct buffers *buffers, void *memory, uint64_t size)
{
    *buffers = (struct buffers){.memory = memory, .size = size - size % BUFFER_LEAST};
    uint64_t at = 0;
    for (unsigned order = BUFFER_SIZES; order-- > 0;) {
        while (buffers->size - at >= block_size(order)) {
            give(buffers, (struct buffer *)(void *)(buffers->memory + at), order);
            at += block_size(order);
        }
    }
}

struct buffer *buffer_make(struct buffers *buffers, uint32_t size)
{
    unsigned order = 0, found;
    while (order < BUFFER_SIZES && block_size(order) - sizeof(struct buffer) < size)
        order++;
    for (found = order; found < BUFFER_SIZES && !buffers->free[found];)
        found++;
    if (found >= BUFFER_SIZES)
        return NULL;
    struct buffer *block = buffers->free[found];
    take(buffers, block);
    while (found > order) {
        found--;
        give(buffers, (struct buffer *)(void *)((uint8_t *)block + block_size(found)), found);
    }
    block->holders = 1;
    block->order = (uint8_t)order;
    block->size = size;
    block->value_at = 0;
    buffers->used += block_size(order);
    return block;
}

struct buffer *buffer_hold(struct buffer *buffer)
{
    assert(buffer->holders);
    buffer->holders++;
    return buffer;
}

/* The free block that makes a larger one together with this one; NULL: there is none. */
static struct buffer *find_buddy(const struct buffers *buffers, const struct buffer *block,
                                 unsigned order)
{
    uint64_t at = (uint64_t)((const uint8_t *)block - buffers->memory) ^ block_size(order);
    if (order + 1 >= BUFFER_SIZES || at + block_size(order) > buffers->size)
        return NULL;
    struct buffer *buddy = (struct buffer *)(void *)(buffers->memory + at);
    return buddy->holders == 0 && buddy->order == order ? buddy : NULL;
}

void buffer_release(struct buffers *buffers, struct buffer *buffer)
{
    if (!buffer)
        return;
    assert(buffer->holders);
    if (--buffer->holders)
        return;
    if (buffer->order == BUFFER_LARGE) {
        room_give(buffer->room, buffer);
        return;
    }
    unsigned order = buffer->order;
    buffers->used -= block_size(order);
    for (struct buffer *buddy; (buddy = find_buddy(buffers, buffer, order)); order++) {
        take(buffers, buddy);
        if (buddy < buffer)
            buffer = buddy;
    }
    give(buffers, buffer, order);
}
