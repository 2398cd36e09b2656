#pragma once
/* buffers: one region of memory in blocks of any size. A block has several holders; the last one
 * gives it back. Blocks are powers of two (a buddy system), so memory never splinters for good.
 * Pure. */

#include <stdbool.h>
#include <stdint.h>

#define BUFFER_LEAST 256u /* bytes of a block, with its head */
#define BUFFER_SIZES 24   /* BUFFER_LEAST << 0 to 23: 2 GiB */
#define BUFFER_LARGE 255  /* instead of an order: it is a block of a room (room.h) */

struct value_room;

struct buffer {
    uint32_t holders; /* 0: it is free */
    uint8_t order;    /* the block has BUFFER_LEAST << order bytes */
    uint32_t size;    /* bytes that were asked for */
    /* BUFFER_LARGE: a value begins here, and `digest` is that of all bytes from there; 0: it is not
     * known. */
    uint32_t value_at;
    union {
        struct {
            struct buffer *next, *previous; /* of free blocks of this order */
        };
        struct { /* BUFFER_LARGE */
            struct value_room *room;
            uint64_t digest;
        };
    };
    uint8_t bytes[];
};

struct buffers {
    uint8_t *memory; /* borrowed */
    uint64_t size;
    uint64_t used; /* bytes of blocks that are held */
    struct buffer *free[BUFFER_SIZES];
};

/* Uses as much of the memory as a whole number of least blocks; the address is a multiple of 16. */
void buffers_init(struct buffers *buffers, void *memory, uint64_t size);
/* The caller holds it. NULL: no block is free that is large enough. */
struct buffer *buffer_make(struct buffers *buffers, uint32_t size);
struct buffer *buffer_hold(struct buffer *buffer);
/* NULL is allowed, and a block of a room. */
void buffer_release(struct buffers *buffers, struct buffer *buffer);
