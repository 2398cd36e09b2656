#include "os/host/packets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"

/* STRIDE is an odd number of cache lines, so that the headers of adjacent packets fall into
 * different sets of the cache. */
#define LINE   64
#define STRIDE (((PACKET_SIZE_MAX + LINE - 1) / LINE | 1) * LINE)
static_assert(STRIDE / LINE % 2 == 1 && STRIDE >= PACKET_SIZE_MAX,
              "a whole packet, and an odd number of lines");

static_assert(sizeof(struct owned_packet) == 2 * LINE, "to forward a packet touches two lines");

struct packets {
    struct packet_pool pool;
    struct packet *free; /* linked by packet.next */
    uint32_t count;
    uint32_t made;            /* the first `made` of `all` were used; the others are untouched */
    struct owned_packet *all; /* mapped; after them: */
    uint8_t *buffers;
};

static struct owned_packet *owned(struct packet *packet)
{
    return container_of(packet, struct owned_packet, packet);
}

/* Puts one more packet into the empty free list. False: there are no more. */
__attribute__((noinline)) static bool packets_make(struct packets *packets)
{
    if (packets->made == packets->count)
        return false;
    struct owned_packet *made = &packets->all[packets->made];
    made->own = packets->buffers + (size_t)packets->made++ * STRIDE;
    packets->free = &made->packet;
    return true;
}

/* Takes the first free packet and resets its fields; NULL if there is none. */
static inline struct owned_packet *packets_next(struct packets *packets)
{
    if (__builtin_expect(!packets->free, 0) && !packets_make(packets))
        return NULL;
    struct packet *packet = packets->free;
    struct packet *next = packet->next;
    packets->free = next;
    __builtin_prefetch(next, 1);
    packets->pool.live++;
    *packet = (struct packet){.pool = &packets->pool, .port_in = PORT_NONE};
    return owned(packet);
}

static struct packet *packets_take(struct packet_pool *pool, uint32_t stored)
{
    assert(stored >= PACKET_HEADER_SIZE && stored <= PACKET_SIZE_MAX);
    struct owned_packet *taken = packets_next(container_of(pool, struct packets, pool));
    if (!taken)
        return NULL;
    taken->loan = NULL;
    taken->packet.bytes = taken->own;
    taken->packet.size = taken->packet.stored = stored;
    return &taken->packet;
}

static void loan_drop(struct loan *loan)
{
    assert(loan->live > 0);
    if (--loan->live == 0 && loan->whole)
        loan->released(loan);
}

static void packets_give(struct packet_pool *pool, struct packet *packet)
{
    struct packets *packets = container_of(pool, struct packets, pool);
    struct owned_packet *given = owned(packet);
    assert(packet->pool == pool && pool->live > 0);
    pool->live--;
    packet->next = packets->free;
    packets->free = packet;
    struct loan *loan = given->loan;
    given->loan = NULL;
    if (loan)
        loan_drop(loan);
}

static const struct packet_pool_ops packets_ops = {.take = packets_take, .give = packets_give};

static size_t memory_size(uint32_t count)
{
    return count * (sizeof(struct owned_packet) + STRIDE);
}

enum err packets_open(struct packets **out, uint32_t count, struct why *why)
{
    assert(count > 0);
    struct packets *packets = array_new(1, sizeof *packets);
    if (!packets)
        return why_memory(why);
    void *memory = mmap(NULL, memory_size(count), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(packets);
        return why_fail(why, ERR_MEMORY, "no memory for the %u packets that the services may use",
                        count);
    }
    packets->all = memory;
    packets->buffers = (uint8_t *)&packets->all[count];
    packets->pool.ops = &packets_ops;
    packets->count = count;
    *out = packets;
    return OK;
}

void packets_close(struct packets *packets)
{
    if (!packets)
        return;
    assert(packets->pool.live == packets->pool.abandoned);
    munmap(packets->all, memory_size(packets->count));
    free(packets);
}

struct packet_pool *packets_pool(struct packets *packets)
{
    return &packets->pool;
}

uint32_t packets_free(const struct packets *packets)
{
    return packets->count - (uint32_t)packets->pool.live;
}

struct packet *packets_lend(struct packets *packets, struct loan *loan, uint8_t *bytes,
                            uint32_t size)
{
    assert(!loan->whole && loan->count < LOAN_PACKETS_MAX);
    struct owned_packet *lent = packets_next(packets);
    if (!lent)
        return NULL;
    lent->loan = loan;
    lent->packet.bytes = bytes;
    lent->packet.size = lent->packet.stored = size;
    loan->held[loan->count++] = lent;
    loan->live++;
    return &lent->packet;
}

void loan_start(struct loan *loan)
{
    loan->live = loan->count = 0;
    loan->whole = false;
}

void loan_close(struct loan *loan)
{
    assert(!loan->whole);
    loan->whole = true;
    if (!loan->live)
        loan->released(loan);
}

/* `held` may list a packet twice: it was released, and then lent again for the same frame. */
void loan_settle(struct loan *loan)
{
    if (!loan->live)
        return;
    for (uint32_t i = 0; i < loan->count; i++) {
        struct owned_packet *held = loan->held[i];
        if (held->loan != loan)
            continue;
        memcpy(held->own, held->packet.bytes, held->packet.stored);
        held->packet.bytes = held->own;
        held->loan = NULL;
        loan->live--;
    }
    assert(loan->live == 0);
    loan->count = 0;
    if (loan->whole)
        loan->released(loan);
}
