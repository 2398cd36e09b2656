#pragma once
/* room: one region of memory for large values. Who needs a block and finds no room waits, in order:
 * so one that needs much is not passed by others for ever. Blocks are as large as asked, and lie in
 * the order of their addresses; one that is given back is joined with free ones beside it. Pure.
 *
 * A block is a buffer (buffers.h): it has several holders, and buffer_release gives it back. */

#include "base/list.h"
#include "services/store/memory/buffers.h"

#define ROOM_HEAD 64 /* bytes of a block, at most, besides those that were asked for */

struct room_block;

/* One that waits. It belongs to the room until granted() or room_leave. */
struct room_wait {
    struct list link;
    uint32_t size;
    bool waits;
    void (*granted)(struct room_wait *wait, struct buffer *buffer); /* who gets it holds it */
};

struct value_room {
    uint8_t *memory; /* borrowed */
    uint64_t size;
    uint64_t used; /* bytes of blocks that are held */
    struct room_block *first;
    struct list waits;
    /* Something was given back while others wait: the owner calls room_serve soon. */
    void (*freed)(struct value_room *room);
    void *owner;
};

/* The address of the memory is a multiple of 16. */
void room_init(struct value_room *room, void *memory, uint64_t size,
               void (*freed)(struct value_room *room), void *owner);
/* The caller holds it. NULL: there is no room now, or others wait. */
struct buffer *room_take(struct value_room *room, uint32_t size);
/* False: a block of that size never fits. */
bool room_fits(const struct value_room *room, uint32_t size);
/* Waits for a block that fits; size and granted() are set. */
void room_wait(struct value_room *room, struct room_wait *wait);
void room_leave(struct room_wait *wait); /* if it waits */
/* Grants what can be granted. Calls granted(). */
void room_serve(struct value_room *room);
void room_give(struct value_room *room, struct buffer *buffer); /* only for buffer_release */
