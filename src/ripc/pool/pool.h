#pragma once
/* pool: memory that peers can access, allocated as buffers.
 *
 * Buffers come from slabs of sealed shared memory, in power-of-two classes from 64 bytes; a freed
 * buffer is reused for the next request of its class. A large buffer gets a slab of its own. A few
 * such slabs are kept when they are free, because creating and faulting in memory costs more than
 * the copy. Foreign memory, which the program allocated itself, and memory files of the caller can
 * be registered, too. Any address is found in O(log slabs). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/memfile.h"

struct pool;

#define POOL_LABEL "weft-pool" /* of the memory files of buffers */

/* Memory that is registered as a whole: a slab, an adopted file, or foreign memory. */
struct extent {
    uint8_t *base;
    size_t size;
    const struct memfile *file; /* NULL for foreign memory */
    uint32_t users;             /* sends, windows and grants that use it, by pool_use */
    void *regions[4];           /* of the layer above: one per transport (struct region *) */
};

struct pool_events {
    /* A slab or foreign memory is added (may be refused with a negative errno) or removed. */
    int (*extent_open)(void *owner, struct extent *extent);
    void (*extent_close)(void *owner, struct extent *extent);
};

MUST_CHECK int pool_open(struct pool **pool, const struct pool_events *events, void *owner);
void pool_close(struct pool *pool); /* calls extent_close for everything that is left */

/* NULL if out of memory. 64-byte aligned; page aligned from 4096 bytes on. */
void *pool_alloc(struct pool *pool, size_t size);

/* The same; the whole buffer is zero, up to pool_buffer_size. */
void *pool_alloc_zeroed(struct pool *pool, size_t size);

/* Like realloc; data moves only if necessary. */
void *pool_resize(struct pool *pool, void *data, size_t size);

/* -EINVAL: not a buffer of this pool (or not its start), -EALREADY: already free, -EBUSY: in
 * use. */
int pool_free(struct pool *pool, void *data);

/* Registers foreign memory: -EFAULT if any page of it is not mapped, -EEXIST if it overlaps an
 * extent, -EINVAL if empty. */
int pool_register(struct pool *pool, void *base, size_t size);
int pool_unregister(struct pool *pool, void *base); /* -ENOENT, -EBUSY */

/* Adopts a memory file of the caller, which must stay mapped until pool_drop. -ENOMEM */
MUST_CHECK int pool_adopt(struct pool *pool, const struct memfile *file);
/* `base` is the file's base; it must not be in use. */
void pool_drop(struct pool *pool, const void *base);
bool pool_is_adopted(const struct extent *extent);
/* Another file is mapped there now: calls extent_close and extent_open for it. */
void pool_exchange(struct pool *pool, const struct memfile *file);

/* Returns the extent that contains all of [base, base + size), or NULL. Parts of a slab that are
 * free or were never allocated do not count, so use after free is reliably -EFAULT. */
struct extent *pool_find(struct pool *pool, const void *base, size_t size);

/* Use and unuse a piece that pool_find would find; a used buffer cannot be freed. */
struct extent *pool_use(struct pool *pool, const void *base, size_t size);
void pool_unuse(struct pool *pool, const void *base);

/* What a byte of memory belongs to. */
enum pool_kind { POOL_UNKNOWN, POOL_BUFFER, POOL_FOREIGN, POOL_ADOPTED };

/* Finds the whole buffer, foreign memory or adopted file that contains the byte at `at`; if there
 * is one, also returns where it begins and its size. */
enum pool_kind pool_whole(struct pool *pool, const void *at, void **base, size_t *size);

/* Returns the size of a buffer; 0 if there is none. */
size_t pool_buffer_size(struct pool *pool, const void *data);

struct pool_counts {
    uint64_t buffers, bytes;    /* allocated now */
    uint64_t slabs, slab_bytes; /* mapped now */
    uint64_t reused;            /* allocations served from freed memory */
};
void pool_count(const struct pool *pool, struct pool_counts *counts);
