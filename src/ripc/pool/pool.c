/* pool: which slabs exist, which slab contains an address, and which one lends next.
 *
 * There are three sizes of requests: small ones share a run with others of their class (slab.h),
 * middle ones are a run of units, and large ones (above POOL_MIDDLE_MAX) have a slab of their own.
 * Each new slab for carving is as large as all before it together (up to POOL_CARVED_MAX), so a
 * process that needs little memory has little, and one that needs much has few descriptors.
 *
 * Free memory is kept up to POOL_SPARE_MAX: empty carved slabs stay in their list, large ones are
 * kept in a list of waiting slabs.
 *
 * Invariants: `slabs` is sorted and without overlap; a run is in its class's list iff it has many
 * chunks and one to lend; a class keeps at most one run of which nothing is lent; spare_bytes is
 * the sum of the empty and the waiting slabs. */
#include "ripc/pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/pool/slab.h"

#define POOL_CARVED_MIN  ((size_t)256 << 10) /* the first slab: units of a page */
#define POOL_CARVED_MAX  ((size_t)16 << 20)  /* units of 256 KiB */
#define POOL_MIDDLE_MAX  ((size_t)1 << 20)   /* larger requests get a slab of their own */
#define POOL_SPARE_MAX   ((size_t)256 << 20)
#define POOL_WAITING_MAX 8
#define POOL_GONE_MAX    64
#define POOL_CLASSES     12 /* 64 B to 128 KiB, half of the largest unit */
static_assert((size_t)SLAB_CHUNK_MIN << (POOL_CLASSES - 1) == POOL_CARVED_MAX / SLAB_UNITS / 2, "");

/* A slab that was given back to the system. */
struct gone {
    uintptr_t base; /* 0 in an unused entry */
    size_t size, unit_size;
    uint32_t unit_count;
    uint64_t stale_units; /* those that had buffers */
};

struct pool {
    const struct pool_events *events; /* borrowed */
    void *owner;
    struct slab **slabs; /* all, foreign ones too; sorted by address */
    size_t slab_count, slab_capacity;
    struct slab *last;    /* the slab found last, or NULL: messages often reuse memory */
    struct slab *carved;  /* newest first */
    struct slab *waiting; /* large slabs that are free; newest first */
    unsigned waiting_count;
    size_t spare_bytes;
    size_t carved_bytes;
    struct run *classes[POOL_CLASSES];
    struct pool_counts counts;
    struct gone gone[POOL_GONE_MAX]; /* the last ones, so that freeing twice has its own error */
    unsigned gone_next;              /* the entry to write next */
};

int pool_open(struct pool **pool, const struct pool_events *events, void *owner)
{
    struct pool *made = array_new(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->events = events;
    made->owner = owner;
    *pool = made;
    return 0;
}

void pool_close(struct pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->slab_count; i++) {
        pool->events->extent_close(pool->owner, &pool->slabs[i]->extent);
        slab_free(pool->slabs[i]);
    }
    free(pool->slabs);
    free(pool);
}

/* ---- finding a slab ---- */

/* False for foreign memory. */
static bool slab_lends(const struct slab *slab)
{
    return slab->unit_count > 0;
}

/* Returns how many slabs begin at or below that address. */
static size_t pool_rank(const struct pool *pool, const void *at)
{
    size_t low = 0, high = pool->slab_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)pool->slabs[middle]->extent.base <= (uintptr_t)at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool slab_holds(const struct slab *slab, const void *at, size_t size)
{
    uintptr_t offset = (uintptr_t)at - (uintptr_t)slab->extent.base;
    return offset < slab->extent.size && size <= slab->extent.size - offset;
}

static struct slab *pool_slab_at(struct pool *pool, const void *at)
{
    if (pool->last && slab_holds(pool->last, at, 0))
        return pool->last;
    size_t rank = pool_rank(pool, at);
    if (!rank || !slab_holds(pool->slabs[rank - 1], at, 0))
        return NULL;
    return pool->last = pool->slabs[rank - 1];
}

/* Returns a slab that overlaps the memory, or NULL; the memory does not wrap around. */
static struct slab *pool_overlap(const struct pool *pool, const void *base, size_t size)
{
    size_t rank = pool_rank(pool, (const uint8_t *)base + (size - 1));
    if (!rank)
        return NULL;
    struct slab *below = pool->slabs[rank - 1];
    return (uintptr_t)below->extent.base + below->extent.size > (uintptr_t)base ? below : NULL;
}

static void pool_remember(struct pool *pool, const struct slab *slab)
{
    pool->gone[pool->gone_next] = (struct gone){
        .base = (uintptr_t)slab->extent.base,
        .size = slab->extent.size,
        .unit_size = slab->unit_size,
        .unit_count = slab->unit_count,
        .stale_units = slab->stale_units,
    };
    pool->gone_next = (pool->gone_next + 1) % POOL_GONE_MAX;
}

/* Can a buffer have begun at that offset, in units that had buffers? */
static bool stale_begins(uint64_t stale_units, size_t unit_size, uint32_t unit_count, size_t offset)
{
    size_t step = unit_count == 1 ? unit_size : SLAB_CHUNK_MIN;
    return (stale_units >> offset / unit_size & 1) && offset % step == 0;
}

static bool pool_remembers(const struct pool *pool, const void *data)
{
    for (unsigned i = 0; i < POOL_GONE_MAX; i++) {
        const struct gone *gone = &pool->gone[i];
        uintptr_t offset = (uintptr_t)data - gone->base;
        if (gone->base && offset < gone->size &&
            stale_begins(gone->stale_units, gone->unit_size, gone->unit_count, offset))
            return true;
    }
    return false;
}

static void pool_remove(struct pool *pool, struct slab *slab)
{
    size_t index = pool_rank(pool, slab->extent.base) - 1;
    assert(pool->slabs[index] == slab);
    pool->slab_count--;
    memmove(&pool->slabs[index], &pool->slabs[index + 1],
            (pool->slab_count - index) * sizeof *pool->slabs);
    if (pool->last == slab)
        pool->last = NULL;
    if (slab_lends(slab)) {
        pool_remember(pool, slab);
        pool->counts.slabs--;
        pool->counts.slab_bytes -= slab->extent.size;
    }
    pool->events->extent_close(pool->owner, &slab->extent);
    slab_free(slab);
}

/* On success the pool owns the slab, on failure still the caller. */
static int pool_insert(struct pool *pool, struct slab *slab)
{
    struct extent *extent = &slab->extent;
    if (!array_reserve(&pool->slabs, &pool->slab_capacity, pool->slab_count + 1,
                       sizeof *pool->slabs))
        return -ENOMEM;
    int result = pool->events->extent_open(pool->owner, extent);
    if (result < 0)
        return result;
    size_t index = pool_rank(pool, extent->base);
    memmove(&pool->slabs[index + 1], &pool->slabs[index],
            (pool->slab_count - index) * sizeof *pool->slabs);
    pool->slabs[index] = slab;
    pool->slab_count++;
    if (slab_lends(slab)) {
        pool->counts.slabs++;
        pool->counts.slab_bytes += extent->size;
    }
    return 0;
}

/* ---- slabs to lend from ---- */

/* Frees waiting large slabs, oldest first, until both limits are met. */
static void pool_trim(struct pool *pool, unsigned count_max, size_t bytes_max)
{
    while (pool->waiting && (pool->waiting_count > count_max || pool->spare_bytes > bytes_max)) {
        struct slab **oldest = &pool->waiting;
        while ((*oldest)->next)
            oldest = &(*oldest)->next;
        struct slab *gone = *oldest;
        *oldest = NULL;
        pool->waiting_count--;
        pool->spare_bytes -= gone->extent.size;
        pool_remove(pool, gone);
    }
}

/* Foreign memory may have been unmapped without being unregistered, and our new slab may be at its
 * address. Its registration is then meaningless and is removed, unless it is in use. */
static bool pool_evict_unmapped(struct pool *pool, const struct slab *slab)
{
    struct slab *stale;
    while ((stale = pool_overlap(pool, slab->extent.base, slab->extent.size))) {
        assert(!stale->extent.file);
        if (stale->extent.users)
            return false;
        pool_remove(pool, stale);
    }
    return true;
}

static struct slab *pool_slab_new(struct pool *pool, size_t size, uint32_t unit_count)
{
    struct slab *slab;
    int result = slab_make(&slab, size, unit_count);
    if (result < 0 && pool->waiting) {
        pool_trim(pool, 0, 0); /* waiting memory and descriptors are better used now */
        result = slab_make(&slab, size, unit_count);
    }
    if (result < 0)
        return NULL;
    if (!pool_evict_unmapped(pool, slab) || pool_insert(pool, slab) < 0) {
        slab_free(slab);
        return NULL;
    }
    return slab;
}

static bool slab_is_empty(const struct slab *slab)
{
    return (unsigned)__builtin_popcountll(slab->free_units) == slab->unit_count;
}

/* Returns a slab for carving with room for that size, made if necessary. */
static struct slab *pool_slab_with_room(struct pool *pool, size_t size)
{
    for (struct slab *slab = pool->carved; slab; slab = slab->next)
        if (slab_has_room(slab, size))
            return slab;
    size_t wanted = POOL_CARVED_MIN;
    while (wanted < POOL_CARVED_MAX && (wanted < 4 * size || wanted < pool->carved_bytes))
        wanted *= 2;
    struct slab *slab = pool_slab_new(pool, wanted, SLAB_UNITS);
    if (!slab)
        return NULL;
    slab->next = pool->carved;
    pool->carved = slab;
    pool->carved_bytes += wanted;
    pool->spare_bytes += wanted;
    return slab;
}

/* A slab became empty: keeps it unless too much is spare already. */
static void pool_slab_spare(struct pool *pool, struct slab *slab)
{
    pool->spare_bytes += slab->extent.size;
    if (pool->spare_bytes <= POOL_SPARE_MAX)
        return;
    struct slab **at = &pool->carved;
    while (*at != slab)
        at = &(*at)->next;
    *at = slab->next;
    pool->carved_bytes -= slab->extent.size;
    pool->spare_bytes -= slab->extent.size;
    pool_remove(pool, slab);
}

/* Returns the waiting slab that wastes least, if it wastes less than half. */
static struct slab *pool_slab_waiting(struct pool *pool, size_t size)
{
    struct slab **best = NULL;
    for (struct slab **at = &pool->waiting; *at; at = &(*at)->next) {
        size_t has = (*at)->extent.size;
        if (has >= size && has / 2 < size && (!best || has < (*best)->extent.size))
            best = at;
    }
    if (!best)
        return NULL;
    struct slab *slab = *best;
    *best = slab->next;
    pool->waiting_count--;
    pool->spare_bytes -= slab->extent.size;
    return slab;
}

/* ---- runs that have a chunk to lend ---- */

static unsigned class_of(size_t size)
{
    if (size <= SLAB_CHUNK_MIN)
        return 0;
    return (unsigned)(64 - __builtin_clzll(size - 1) - __builtin_ctzll(SLAB_CHUNK_MIN));
}

static void pool_list(struct pool *pool, struct run *run)
{
    struct run **first = &pool->classes[class_of(run->chunk_size)];
    run->previous = NULL;
    run->next = *first;
    if (run->next)
        run->next->previous = run;
    *first = run;
}

static void pool_unlist(struct pool *pool, struct run *run)
{
    if (run->previous)
        run->previous->next = run->next;
    else
        pool->classes[class_of(run->chunk_size)] = run->next;
    if (run->next)
        run->next->previous = run->previous;
}

/* Returns a run with a chunk of that size to lend; it is not in a list. */
static struct run *pool_run_new(struct pool *pool, size_t size, bool *again)
{
    struct slab *slab;
    if (size > POOL_MIDDLE_MAX) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        if (size > PTRDIFF_MAX - page)
            return NULL;
        slab = pool_slab_waiting(pool, size);
        if (!slab)
            slab = pool_slab_new(pool, (size + page - 1) & ~(page - 1), 1);
        struct run *run = slab ? slab_carve(slab, slab->extent.size, again) : NULL;
        if (slab && !run)
            pool_remove(pool, slab);
        return run;
    }
    slab = pool_slab_with_room(pool, size);
    if (!slab)
        return NULL;
    bool was_empty = slab_is_empty(slab);
    struct run *run = slab_carve(slab, size, again);
    if (run && was_empty)
        pool->spare_bytes -= slab->extent.size;
    return run;
}

static void pool_run_gone(struct pool *pool, struct run *run)
{
    struct slab *slab = run->slab;
    bool large = slab->unit_count == 1;
    run_dissolve(run);
    if (large) {
        slab->next = pool->waiting;
        pool->waiting = slab;
        pool->waiting_count++;
        pool->spare_bytes += slab->extent.size;
        pool_trim(pool, POOL_WAITING_MAX, POOL_SPARE_MAX);
    } else if (slab_is_empty(slab)) {
        pool_slab_spare(pool, slab);
    }
}

/* ---- buffers ---- */

/* Allocates. Sets `of` to the buffer's run, and `stale` if the buffer may not be zero. */
static void *pool_lend(struct pool *pool, size_t size, struct run **of, bool *stale)
{
    bool unit_again = false, chunk_again = false;
    unsigned class = class_of(size);
    struct run *run = class < POOL_CLASSES ? pool->classes[class] : NULL;
    bool listed = run != NULL;
    if (!run)
        run = pool_run_new(pool, size, &unit_again);
    if (!run)
        return NULL;
    void *data = run_lend(run, &chunk_again);
    if (run_is_full(run) && listed)
        pool_unlist(pool, run);
    else if (!run_is_full(run) && !listed)
        pool_list(pool, run);
    pool->counts.buffers++;
    pool->counts.bytes += run->chunk_size;
    pool->counts.reused += unit_again || chunk_again;
    *of = run;
    *stale = run->stale || chunk_again;
    return data;
}

void *pool_alloc(struct pool *pool, size_t size)
{
    struct run *run;
    bool stale;
    return pool_lend(pool, size, &run, &stale);
}

void *pool_alloc_zeroed(struct pool *pool, size_t size)
{
    struct run *run;
    bool stale;
    void *data = pool_lend(pool, size, &run, &stale);
    if (data && stale)
        memset(data, 0, run->chunk_size);
    return data;
}

/* Finds the buffer that begins there. Errors as for pool_free. */
static int pool_buffer_at(struct pool *pool, const void *data, struct run **run,
                          struct chunk **chunk)
{
    struct slab *slab = pool_slab_at(pool, data);
    if (!slab)
        return pool_remembers(pool, data) ? -EALREADY : -EINVAL;
    if (!slab_lends(slab))
        return -EINVAL;
    size_t offset = (size_t)((const uint8_t *)data - slab->extent.base);
    *run = slab_run_at(slab, data);
    if (!*run) /* the run was dissolved, but stale_units still shows that there was one */
        return stale_begins(slab->stale_units, slab->unit_size, slab->unit_count, offset)
                   ? -EALREADY
                   : -EINVAL;
    *chunk = run_chunk_at(*run, data);
    if (run_chunk_base(*run, *chunk) != data || *chunk >= &(*run)->chunks[(*run)->fresh])
        return -EINVAL;
    return (*chunk)->next == SLAB_CHUNK_LENT ? 0 : -EALREADY;
}

int pool_free(struct pool *pool, void *data)
{
    struct run *run;
    struct chunk *chunk;
    int result = pool_buffer_at(pool, data, &run, &chunk);
    if (result < 0)
        return result;
    if (chunk->users)
        return -EBUSY;
    bool was_full = run_is_full(run);
    run_take_back(run, chunk);
    pool->counts.buffers--;
    pool->counts.bytes -= run->chunk_size;
    if (run->chunk_count == 1) {
        pool_run_gone(pool, run);
        return 0;
    }
    if (was_full)
        pool_list(pool, run);
    if (run->lent_count == 0 && (run->next || run->previous)) {
        pool_unlist(pool, run);
        pool_run_gone(pool, run);
    }
    return 0;
}

void *pool_resize(struct pool *pool, void *data, size_t size)
{
    struct run *run;
    struct chunk *chunk;
    if (!data)
        return pool_alloc(pool, size);
    if (pool_buffer_at(pool, data, &run, &chunk) < 0)
        return NULL;
    size_t held = run->chunk_size;
    if (size <= held)
        return data;
    if (size <= POOL_MIDDLE_MAX && run_grow(run, size)) {
        pool->counts.bytes += run->chunk_size - held;
        return data;
    }
    if (chunk->users)
        return NULL; /* a user reads it in place */
    void *moved = pool_alloc(pool, size);
    if (!moved)
        return NULL;
    memcpy(moved, data, held);
    int result = pool_free(pool, data);
    assert(result == 0);
    return moved;
}

size_t pool_buffer_size(struct pool *pool, const void *data)
{
    struct run *run;
    struct chunk *chunk;
    return pool_buffer_at(pool, data, &run, &chunk) < 0 ? 0 : run->chunk_size;
}

/* ---- foreign memory ---- */

/* msync with MS_ASYNC writes nothing; it only walks the mappings and reports whether one is
 * missing. So a terabyte is checked as fast as a page. */
static bool memory_is_mapped(const void *base, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)base & ~(page - 1);
    uintptr_t last = ((uintptr_t)base + (size - 1)) & ~(page - 1);
    return msync((void *)first, last - first + page, MS_ASYNC) == 0 || errno == EBUSY;
}

int pool_register(struct pool *pool, void *base, size_t size)
{
    uintptr_t end;
    if (!size)
        return -EINVAL;
    if (!base || __builtin_add_overflow((uintptr_t)base, size, &end) ||
        !memory_is_mapped(base, size))
        return -EFAULT;
    if (pool_overlap(pool, base, size))
        return -EEXIST;
    struct slab *slab;
    int result = slab_make_foreign(&slab, base, size);
    if (result < 0)
        return result;
    result = pool_insert(pool, slab);
    if (result < 0)
        slab_free(slab);
    return result;
}

int pool_unregister(struct pool *pool, void *base)
{
    struct slab *slab = pool_slab_at(pool, base);
    if (!slab || slab->extent.file || slab->extent.base != base)
        return -ENOENT;
    if (slab->extent.users)
        return -EBUSY;
    pool_remove(pool, slab);
    return 0;
}

int pool_adopt(struct pool *pool, const struct memfile *file)
{
    struct slab *slab;
    int result = slab_make_file(&slab, file);
    if (result < 0)
        return result;
    result = pool_evict_unmapped(pool, slab) ? pool_insert(pool, slab) : -ENOMEM;
    if (result < 0)
        slab_free(slab);
    return result;
}

bool pool_is_adopted(const struct extent *extent)
{
    const struct slab *slab = (const struct slab *)extent; /* its first member */
    return !slab_lends(slab) && extent->file;
}

static struct slab *pool_adopted(struct pool *pool, const void *base)
{
    struct slab *slab = pool_slab_at(pool, base);
    assert(slab && pool_is_adopted(&slab->extent) && slab->extent.base == base);
    return slab;
}

void pool_drop(struct pool *pool, const void *base)
{
    struct slab *slab = pool_adopted(pool, base);
    assert(!slab->extent.users);
    pool_remove(pool, slab);
}

void pool_exchange(struct pool *pool, const struct memfile *file)
{
    struct slab *slab = pool_adopted(pool, file->base);
    assert(!slab->extent.users && slab->file.size == file->size);
    pool->events->extent_close(pool->owner, &slab->extent);
    slab->file = *file;
    int result = pool->events->extent_open(pool->owner, &slab->extent);
    assert(result == 0); /* it was accepted before */
}

/* ---- looking memory up ---- */

/* As pool_find; also returns the chunk, or NULL in foreign memory. */
static struct slab *pool_lookup(struct pool *pool, const void *base, size_t size,
                                struct chunk **chunk)
{
    struct slab *slab = pool_slab_at(pool, base);
    *chunk = NULL;
    if (!slab || !slab_holds(slab, base, size))
        return NULL;
    if (!slab_lends(slab))
        return slab;
    struct run *run = slab_run_at(slab, base);
    if (!run)
        return NULL;
    *chunk = run_chunk_at(run, base);
    if ((*chunk)->next != SLAB_CHUNK_LENT)
        return NULL;
    size_t offset = (size_t)((const uint8_t *)base - run_chunk_base(run, *chunk));
    return size <= run->chunk_size - offset ? slab : NULL;
}

struct extent *pool_find(struct pool *pool, const void *base, size_t size)
{
    struct chunk *chunk;
    struct slab *slab = pool_lookup(pool, base, size, &chunk);
    return slab ? &slab->extent : NULL;
}

struct extent *pool_use(struct pool *pool, const void *base, size_t size)
{
    struct chunk *chunk;
    struct slab *slab = pool_lookup(pool, base, size, &chunk);
    if (!slab)
        return NULL;
    assert(slab->extent.users < UINT32_MAX); /* the sum of its chunks' users */
    slab->extent.users++;
    if (chunk)
        chunk->users++;
    return &slab->extent;
}

void pool_unuse(struct pool *pool, const void *base)
{
    struct chunk *chunk;
    struct slab *slab = pool_lookup(pool, base, 0, &chunk);
    assert(slab && slab->extent.users > 0 && (!chunk || chunk->users > 0));
    slab->extent.users--;
    if (chunk)
        chunk->users--;
}

enum pool_kind pool_whole(struct pool *pool, const void *at, void **base, size_t *size)
{
    struct chunk *chunk;
    const struct slab *slab = pool_lookup(pool, at, 0, &chunk);
    if (!slab)
        return POOL_UNKNOWN;
    if (!chunk) {
        *base = slab->extent.base;
        *size = slab->extent.size;
        return slab->extent.file ? POOL_ADOPTED : POOL_FOREIGN;
    }
    const struct run *run = slab_run_at(slab, at);
    *base = run_chunk_base(run, chunk);
    *size = run->chunk_size;
    return POOL_BUFFER;
}

void pool_count(const struct pool *pool, struct pool_counts *counts)
{
    *counts = pool->counts;
}
