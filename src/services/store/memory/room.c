/* room: see the header. Each block begins with its head, and knows the one before it. The buffer
 * follows the head. */
#include "services/store/memory/room.h"

#include <string.h>

#include "base/check.h"

#define UNIT 16u

struct room_block {
    struct room_block *before; /* NULL: it is the first */
    uint64_t size;             /* with this head */
    uint64_t used;             /* 1: someone holds it; 0: free */
    uint64_t zero;
};
#define HEAD (sizeof(struct room_block) + sizeof(struct buffer))
static_assert(HEAD <= ROOM_HEAD && sizeof(struct room_block) % UNIT == 0, "as the header says");

static struct room_block *block_at(uint8_t *memory)
{
    return (struct room_block *)(void *)memory;
}

static struct room_block *block_after(const struct value_room *room, struct room_block *block)
{
    uint8_t *after = (uint8_t *)block + block->size;
    return after < room->memory + room->size ? block_at(after) : NULL;
}

void room_init(struct value_room *room, void *memory, uint64_t size,
               void (*freed)(struct value_room *room), void *owner)
{
    *room = (struct value_room){.memory = memory, .size = size - size % UNIT, .freed = freed};
    room->owner = owner;
    assert(room->size >= HEAD);
    room->first = block_at(room->memory);
    *room->first = (struct room_block){.size = room->size};
    list_init(&room->waits);
}

static uint64_t block_size(uint32_t size)
{
    return (HEAD + (uint64_t)size + UNIT - 1) / UNIT * UNIT;
}

bool room_fits(const struct value_room *room, uint32_t size)
{
    return block_size(size) <= room->size;
}

/* Cuts off what the block does not need. */
static void split(const struct value_room *room, struct room_block *block, uint64_t size)
{
    struct room_block *after = block_after(room, block);
    if (block->size - size < ROOM_HEAD)
        return;
    struct room_block *rest = block_at((uint8_t *)block + size);
    *rest = (struct room_block){.before = block, .size = block->size - size};
    block->size = size;
    if (after)
        after->before = rest;
}

static struct buffer *buffer_of(struct room_block *block)
{
    return (struct buffer *)(void *)(block + 1);
}

static struct buffer *take(struct value_room *room, uint32_t size)
{
    uint64_t wanted = block_size(size);
    struct room_block *block = room->first;
    while (block && (block->used || block->size < wanted))
        block = block_after(room, block);
    if (!block)
        return NULL;
    split(room, block, wanted);
    block->used = 1;
    room->used += block->size;
    struct buffer *buffer = buffer_of(block);
    memset(buffer, 0, sizeof *buffer);
    buffer->holders = 1;
    buffer->order = BUFFER_LARGE;
    buffer->size = size;
    buffer->room = room;
    return buffer;
}

struct buffer *room_take(struct value_room *room, uint32_t size)
{
    return list_is_empty(&room->waits) ? take(room, size) : NULL;
}

/* Joins the block with the one after it, if both are free. */
static void join(struct value_room *room, struct room_block *block)
{
    struct room_block *after = block_after(room, block);
    if (block->used || !after || after->used)
        return;
    block->size += after->size;
    after = block_after(room, block);
    if (after)
        after->before = block;
}

void room_give(struct value_room *room, struct buffer *buffer)
{
    struct room_block *block = block_at((uint8_t *)buffer - sizeof *block);
    struct room_block *before = block->before;
    assert(block->used);
    block->used = 0;
    room->used -= block->size;
    join(room, block);
    if (before)
        join(room, before);
    if (!list_is_empty(&room->waits))
        room->freed(room);
}

void room_wait(struct value_room *room, struct room_wait *wait)
{
    assert(!wait->waits && room_fits(room, wait->size));
    wait->waits = true;
    list_append(&room->waits, &wait->link);
    room->freed(room); /* perhaps there is room, and no other one has waited */
}

void room_leave(struct room_wait *wait)
{
    if (wait->waits)
        list_remove(&wait->link);
    wait->waits = false;
}

void room_serve(struct value_room *room)
{
    while (!list_is_empty(&room->waits)) {
        struct room_wait *wait = container_of(room->waits.next, struct room_wait, link);
        struct buffer *buffer = take(room, wait->size);
        if (!buffer)
            return;
        room_leave(wait);
        wait->granted(wait, buffer);
    }
}
