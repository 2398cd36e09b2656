#pragma once
/* pool: memory that peers can reach, lent in buffers.
 *
 * Buffers come from slabs of sealed shared memory, in power-of-two classes
 * from 64 bytes; a buffer given back waits for the next of its class. What is
 * larger than a slab gets one of its own, and a few of those are kept, too,
 * because making and faulting in memory costs more than the copy. Foreign
 * memory and memory files of others are entered beside. Any address is found in O(log slabs). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/memfile.h"

struct pool;

/* Memory that is registered as a whole: a slab, an adopted file, or foreign memory. */
struct extent {
    uint8_t *base;
    size_t size;
    const struct memfile *file; /* NULL for foreign memory */
    uint32_t users;             /* sends, windows and grants that use it, by pool_use */
    void *regions[4];           /* of the layer above: one per transport (struct region *) */
};

struct pool_events {
    /* A slab or foreign memory appears (may refuse with a negative errno) and goes. */
    int (*extent_open)(void *owner, struct extent *extent);
    void (*extent_close)(void *owner, struct extent *extent);
};

MUST_CHECK int pool_open(struct pool **pool, const struct pool_events *events, void *owner);
void pool_close(struct pool *pool); /* extent_close for all that is left */

/* NULL without memory. 64-byte aligned; from 4096 bytes on page aligned. */
void *pool_alloc(struct pool *pool, size_t size);

/* Like realloc; data moves only when it must. */
void *pool_resize(struct pool *pool, void *data, size_t size);

/* -EINVAL not from here (or not a buffer's start), -EALREADY free already,
 * -EBUSY in use. */
int pool_free(struct pool *pool, void *data);

/* Foreign memory: -EFAULT if any page of it is not mapped, -EEXIST if it
 * overlaps an extent, -EINVAL if empty. */
int pool_register(struct pool *pool, void *base, size_t size);
int pool_unregister(struct pool *pool, void *base); /* -ENOENT, -EBUSY */

/* A memory file of the caller's, mapped for as long as it is adopted. -ENOMEM */
MUST_CHECK int pool_adopt(struct pool *pool, const struct memfile *file);
/* Its base, with nothing that uses it. */
void pool_drop(struct pool *pool, const void *base);
bool pool_is_adopted(const struct extent *extent);
/* Another file lies there now: extent_close and extent_open for it. */
void pool_exchange(struct pool *pool, const struct memfile *file);

/* The extent that holds all of [base, base + size), or NULL. A freed or never
 * allocated part of a slab is not held: use after free is -EFAULT, not luck. */
struct extent *pool_find(struct pool *pool, const void *base, size_t size);

/* Uses and unuses a piece that pool_find would find; a used buffer cannot be freed. */
struct extent *pool_use(struct pool *pool, const void *base, size_t size);
void pool_unuse(struct pool *pool, const void *base);

/* Size that a buffer has; 0 if it is none. */
size_t pool_buffer_size(struct pool *pool, const void *data);

struct pool_counts {
    uint64_t buffers, bytes;    /* lent now */
    uint64_t slabs, slab_bytes; /* mapped now */
    uint64_t reused;            /* allocations served from what was given back */
};
void pool_count(const struct pool *pool, struct pool_counts *counts);
