#pragma once
/* pool: a fixed number of things of one size, taken and given back. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pool {
    uint8_t *memory; /* borrowed */
    size_t size;     /* of each, at least that of a pointer */
    uint32_t room, used;
    void *free;     /* given back; each begins with a pointer to the next */
    uint32_t fresh; /* how many were ever taken: the memory of the others was never touched */
};

static inline void pool_init(struct pool *pool, void *memory, size_t size, uint32_t room)
{
    *pool = (struct pool){.memory = memory, .size = size, .room = room};
}

/* NULL: all are taken. Except for the first pointer it has the contents that it had when it was
 * given back, zeros at first. */
static inline void *pool_take_used(struct pool *pool)
{
    uint8_t *thing = pool->free;
    if (thing)
        memcpy(&pool->free, thing, sizeof pool->free);
    else if (pool->fresh < pool->room)
        thing = pool->memory + pool->size * pool->fresh++;
    else
        return NULL;
    pool->used++;
    return thing;
}

/* Filled with zeros. */
static inline void *pool_take(struct pool *pool)
{
    void *thing = pool_take_used(pool);
    return thing ? memset(thing, 0, pool->size) : NULL;
}

/* Are all taken? */
static inline bool pool_is_exhausted(const struct pool *pool)
{
    return pool->used == pool->room;
}

static inline void pool_give(struct pool *pool, void *thing)
{
    memcpy(thing, &pool->free, sizeof pool->free);
    pool->free = thing;
    pool->used--;
}
