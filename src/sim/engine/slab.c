/* slab: a slab is SLAB_SIZE bytes at a multiple of SLAB_SIZE, so a packet's address gives its slab.
 *
 * Each class keeps its slabs in one list: slabs with free packets come before full ones, so the
 * first one shows whether a new slab is needed. Invariant: `used` packets of a slab are taken, the
 * others of its first `made` packets are in its free list, and the rest was never touched. */
#include "sim/engine/slab.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "sim/engine/pages.h"

#define SLAB_SIZE  (256u * 1024)
#define CLASSES    2
#define SPARES_MAX 4 /* empty slabs that a class keeps, so that a varying load does not thrash */
#define LINE       64

struct slab {
    struct list link;
    struct slab_class *class;
    struct packet *free;
    uint32_t used, made;
};

struct slab_class {
    struct slab_pool *pool;
    struct list slabs;
    uint32_t stored;  /* bytes of a buffer */
    uint32_t stride;  /* bytes of a packet with its buffer */
    uint32_t count;   /* packets of a slab */
    uint32_t empties; /* slabs without a used packet */
};

struct slab_pool {
    struct packet_pool packets;
    struct pages pages;
    size_t most, memory, peak;
    uint64_t taken, refused;
    struct slab_watcher watcher;
    struct slab_class classes[CLASSES];
};

#define PACKET_STRIDE ((sizeof(struct packet) + LINE - 1) / LINE * LINE)
#define SLAB_FIRST    ((sizeof(struct slab) + LINE - 1) / LINE * LINE)

static struct slab *slab_of(const struct packet *packet)
{
    return (struct slab *)((uintptr_t)packet & ~(uintptr_t)(SLAB_SIZE - 1));
}

static struct slab *slab_make(struct slab_class *class)
{
    struct slab_pool *pool = class->pool;
    if (pool->most && pool->memory + SLAB_SIZE > pool->most)
        return NULL;
    struct slab *slab = pages_take(&pool->pages, SLAB_SIZE, SLAB_SIZE);
    if (!slab)
        return NULL;
    *slab = (struct slab){.class = class};
    list_init(&slab->link);
    /* At the front, because it has room. */
    list_append(class->slabs.next, &slab->link);
    class->empties++;
    pool->memory += SLAB_SIZE;
    if (pool->memory > pool->peak)
        pool->peak = pool->memory;
    return slab;
}

static void slab_free(struct slab *slab)
{
    struct slab_pool *pool = slab->class->pool;
    list_remove(&slab->link);
    pool->memory -= SLAB_SIZE;
    pages_give(&pool->pages, slab, SLAB_SIZE);
}

static bool slab_is_full(const struct slab *slab)
{
    return slab->used == slab->class->count;
}

static struct packet *slab_take(struct slab *slab)
{
    struct slab_class *class = slab->class;
    struct packet *packet = slab->free;
    if (packet) {
        slab->free = packet->next;
    } else {
        assert(slab->made < class->count);
        packet = (struct packet *)(void *)((char *)slab + SLAB_FIRST +
                                           (size_t)slab->made++ * class->stride);
    }
    if (slab->used++ == 0)
        class->empties--;
    if (slab_is_full(slab)) { /* behind all slabs with room */
        list_remove(&slab->link);
        list_append(&class->slabs, &slab->link);
    }
    return packet;
}

static struct packet *pool_take(struct packet_pool *packets, uint32_t stored)
{
    struct slab_pool *pool = container_of(packets, struct slab_pool, packets);
    assert(stored >= PACKET_HEADER_SIZE && stored <= PACKET_SIZE_MAX);
    struct slab_class *class = &pool->classes[stored > SLAB_SMALL];
    struct slab *slab = container_of(class->slabs.next, struct slab, link);
    if (list_is_empty(&class->slabs) || slab_is_full(slab))
        slab = slab_make(class);
    if (!slab) {
        pool->refused++;
        return NULL;
    }
    struct packet *packet = slab_take(slab);
    uint8_t *bytes = (uint8_t *)packet + PACKET_STRIDE;
    *packet = (struct packet){.pool = packets,
                              .bytes = bytes,
                              .size = stored,
                              .stored = stored,
                              .port_in = PORT_NONE,
                              .trail = ++pool->taken};
    memset(bytes, 0, PACKET_HEADER_SIZE);
    packets->live++;
    return packet;
}

static void pool_give(struct packet_pool *packets, struct packet *packet)
{
    struct slab *slab = slab_of(packet);
    struct slab_class *class = slab->class;
    assert(&class->pool->packets == packets && slab->used > 0);
    bool was_full = slab_is_full(slab);
    packet->next = slab->free;
    slab->free = packet;
    packets->live--;
    if (--slab->used == 0 && ++class->empties > SPARES_MAX) {
        class->empties--;
        slab_free(slab);
    } else if (was_full) {
        list_remove(&slab->link);
        list_append(class->slabs.next, &slab->link);
    }
}

static const struct packet_pool_ops slab_ops = {pool_take, pool_give};

enum err slab_pool_open(struct slab_pool **out, size_t most, struct why *why)
{
    static const uint32_t stored[CLASSES] = {SLAB_SMALL, PACKET_SIZE_MAX};
    struct slab_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return why_memory(why);
    pool->packets.ops = &slab_ops;
    pages_init(&pool->pages);
    pool->most = most;
    pool->memory = pool->peak = sizeof *pool;
    for (unsigned i = 0; i < CLASSES; i++) {
        struct slab_class *class = &pool->classes[i];
        class->pool = pool;
        class->stored = stored[i];
        class->stride = (uint32_t)(PACKET_STRIDE + (stored[i] + LINE - 1) / LINE * LINE);
        class->count = (uint32_t)((SLAB_SIZE - SLAB_FIRST) / class->stride);
        list_init(&class->slabs);
    }
    *out = pool;
    return OK;
}

void slab_pool_close(struct slab_pool *pool)
{
    if (!pool)
        return;
    for (unsigned i = 0; i < CLASSES; i++)
        list_each(&pool->classes[i].slabs, link) slab_free(container_of(link, struct slab, link));
    assert(pool->memory == sizeof *pool);
    pages_fini(&pool->pages);
    free(pool);
}

struct packet_pool *slab_packets(struct slab_pool *pool)
{
    return &pool->packets;
}

struct packet *slab_copy(struct slab_pool *pool, const struct packet *packet)
{
    struct packet *copy = pool_take(&pool->packets, packet->stored);
    if (!copy)
        return NULL;
    uint8_t *bytes = copy->bytes;
    *copy = *packet;
    copy->bytes = bytes;
    copy->next = copy->previous = NULL;
    copy->pool = &pool->packets;
    memcpy(bytes, packet->bytes, packet->stored);
    if (pool->watcher.copied)
        pool->watcher.copied(pool->watcher.context, copy);
    return copy;
}

void slab_watch(struct slab_pool *pool, const struct slab_watcher *watcher)
{
    pool->watcher = *watcher;
}

void slab_lose(struct slab_pool *pool, struct packet *packet)
{
    if (pool->watcher.lost)
        pool->watcher.lost(pool->watcher.context, packet);
    packet_done(packet);
}

size_t slab_memory(const struct slab_pool *pool)
{
    return pool->memory;
}

size_t slab_memory_peak(const struct slab_pool *pool)
{
    return pool->peak;
}

uint64_t slab_taken(const struct slab_pool *pool)
{
    return pool->taken;
}

uint64_t slab_refused(const struct slab_pool *pool)
{
    return pool->refused;
}
