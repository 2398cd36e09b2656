/* wire: see wire.h. */
#include "sim/engine/wire.h"

#include <string.h>

#include "base/check.h"
#include "base/wide.h"

#define TIME_BITS 16 /* behind the point of byte_time */

struct wire_pace wire_pace_make(const struct wire_settings *settings)
{
    assert(settings->rate == 0 || settings->rate >= WIRE_RATE_MIN);
    struct wire_pace pace = {
        .delay = settings->delay, .overhead = settings->overhead, .buffer = settings->buffer};
    if (settings->rate)
        pace.byte_time = (uint64_t)(((uint128)(8 * PSEC_PER_SECOND) << TIME_BITS) / settings->rate);
    pace.depth_time = (psec)((uint128)settings->depth * pace.byte_time >> TIME_BITS);
    return pace;
}

void wire_init(struct wire *wire, const struct wire_pace *pace, struct slab_pool *pool,
               uint64_t seed, uint64_t stream)
{
    *wire = (struct wire){.pace = pace, .pool = pool, .rng = rng_make(seed, stream)};
}

void wire_set(struct wire *wire, const struct wire_settings *settings)
{
    wire->own = wire_pace_make(settings);
    wire->pace = &wire->own;
    wire->odd = true; /* what is under way may be slower */
}

void wire_fini(struct wire *wire)
{
    wire_flush(wire);
    wire_check(wire);
}

void wire_set_faults(struct wire *wire, const struct wire_faults *faults)
{
    wire->faults = *faults;
    wire->faulty =
        faults->loss || faults->corruption || faults->duplication || faults->jitter || faults->dead;
    wire->odd = true;
}

uint32_t wire_room(struct wire *wire, psec now)
{
    if (wire->free_at <= now + wire->pace->depth_time && !wire->stuck)
        return WIRE_FRAME_MAX;
    if (!wire->asked)
        wire->full++;
    wire->asked = true;
    return 0;
}

psec wire_room_at(const struct wire *wire)
{
    psec depth = wire->pace->depth_time;
    if (wire->stuck)
        return PSEC_NEVER;
    return wire->free_at > depth ? wire->free_at - depth : 0;
}

/* ---- sending ---- */

__attribute__((noinline)) static void drop(struct wire *wire, struct packet *const *packets,
                                           unsigned count, uint64_t *counter)
{
    for (unsigned i = 0; i < count; i++)
        slab_lose(wire->pool, packets[i]);
    *counter += count;
}

static inline void append(struct wire *wire, struct packet *packet, psec arrival)
{
    packet->order = arrival;
    packet->next = NULL;
    wire->flying_bytes += packet->size;
    if (wire->first)
        wire->last->next = packet;
    else
        wire->first = packet;
    wire->last = packet;
}

/* Behind all that arrive no later: the end of the list, unless a fault lets frames overtake. */
static void enqueue(struct wire *wire, struct packet *packet, psec arrival)
{
    if (!wire->first || wire->last->order <= arrival) {
        append(wire, packet, arrival);
        return;
    }
    packet->order = arrival;
    wire->flying_bytes += packet->size;
    struct packet **at = &wire->first;
    while ((*at)->order <= arrival)
        at = &(*at)->next;
    packet->next = *at;
    *at = packet;
}

/* True: what lies unread at the other end fills its buffer, and the packets are gone. */
static inline bool overruns(struct wire *wire, struct packet *const *packets, unsigned count)
{
    if (!wire->pace->buffer || wire->flying_bytes <= wire->pace->buffer)
        return false;
    drop(wire, packets, count, &wire->overrun);
    return true;
}

static void enqueue_frame(struct wire *wire, struct packet *const *packets, unsigned count,
                          psec arrival)
{
    if (overruns(wire, packets, count))
        return;
    for (unsigned i = 0; i < count; i++)
        enqueue(wire, packets[i], arrival);
}

static bool happens(struct wire *wire, uint32_t chance)
{
    return chance && rng_below(&wire->rng, WIRE_PARTS) < chance;
}

static void corrupt(struct wire *wire, struct packet *packet)
{
    packet_seal_hops(packet);
    for (uint64_t bits = 1 + rng_below(&wire->rng, 4); bits > 0; bits--) {
        /* Half of them in the header, however long the packet is. */
        uint32_t span = rng_below(&wire->rng, 2) ? PACKET_HEADER_SIZE : packet->stored;
        uint64_t bit = rng_below(&wire->rng, 8 * (uint64_t)span);
        packet->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    packet->read = false;
    wire->corrupted++;
}

/* Not before what is under way; that is the last of the list. */
static inline psec in_order(const struct wire *wire, psec arrival)
{
    return wire->first && wire->last->order > arrival ? wire->last->order : arrival;
}

static psec late(struct wire *wire, psec arrival)
{
    if (wire->faults.jitter)
        arrival += rng_below(&wire->rng, wire->faults.jitter + 1);
    return wire->faults.reorder ? arrival : in_order(wire, arrival);
}

static void duplicate(struct wire *wire, struct packet *const *packets, unsigned count,
                      psec arrival)
{
    for (unsigned i = 0; i < count; i++) {
        struct packet *copy = slab_copy(wire->pool, packets[i]);
        if (!copy)
            return;
        wire->duplicated++;
        enqueue_frame(wire, &copy, 1, arrival);
    }
}

static void send_faulty(struct wire *wire, struct packet *const *packets, unsigned count,
                        psec arrival)
{
    const struct wire_faults *faults = &wire->faults;
    if (faults->dead) {
        drop(wire, packets, count, &wire->dead);
        return;
    }
    if (happens(wire, faults->loss)) {
        drop(wire, packets, count, &wire->lost);
        return;
    }
    /* Before a bit is turned over: it may be whole the second time. */
    bool twice = happens(wire, faults->duplication);
    if (twice)
        duplicate(wire, packets, count, late(wire, arrival));
    if (happens(wire, faults->corruption))
        corrupt(wire, packets[rng_below(&wire->rng, count)]);
    enqueue_frame(wire, packets, count, late(wire, arrival));
}

/* A jitter that ended may have left something that arrives late. */
__attribute__((noinline)) static void send_odd(struct wire *wire, struct packet *const *packets,
                                               unsigned count, psec arrival)
{
    wire->odd = wire->faulty || wire->first;
    if (wire->faulty)
        send_faulty(wire, packets, count, arrival);
    else
        enqueue_frame(wire, packets, count, in_order(wire, arrival));
}

void wire_send(struct wire *wire, psec now, struct packet *const *packets, unsigned count)
{
    assert(count > 0);
    const struct wire_pace *pace = wire->pace;
    uint64_t bytes = (uint64_t)pace->overhead + packets[0]->size;
    for (unsigned i = 1; i < count; i++)
        bytes += packets[i]->size;
    psec start = wire->free_at > now ? wire->free_at : now;
    wire->free_at = start + (bytes * pace->byte_time >> TIME_BITS);
    wire->sent += count;
    wire->bytes += bytes;
    if (count > 1)
        wire->joined += count - 1;
    psec arrival = wire->free_at + pace->delay;
    if (__builtin_expect(wire->odd, 0)) {
        send_odd(wire, packets, count, arrival);
    } else if (!overruns(wire, packets, count)) {
        append(wire, packets[0], arrival); /* the last is not looked at: it may be far away */
        for (unsigned i = 1; i < count; i++)
            append(wire, packets[i], arrival);
    }
}

/* ---- the other end ---- */

unsigned wire_receive(struct wire *wire, psec now, struct packet **out, unsigned most)
{
    unsigned count = 0;
    while (count < most && wire->first && wire->first->order <= now) {
        struct packet *packet = wire->first;
        wire->first = packet->next;
        wire->flying_bytes -= packet->size;
        out[count++] = packet;
    }
    wire->received += count;
    return count;
}

void wire_lose(struct wire *wire, psec now)
{
    struct packet *packet;
    while ((packet = wire->first) && packet->order <= now) {
        wire->first = packet->next;
        wire->flying_bytes -= packet->size;
        slab_lose(wire->pool, packet);
        wire->flushed++;
    }
}

void wire_count_add(const struct wire *wire, struct wire_counts *sum)
{
    sum->frames += wire->sent - wire->joined;
    sum->sent += wire->sent;
    sum->bytes += wire->bytes;
    sum->received += wire->received;
    sum->lost += wire->lost;
    sum->dead += wire->dead;
    sum->overrun += wire->overrun;
    sum->flushed += wire->flushed;
    sum->duplicated += wire->duplicated;
    sum->corrupted += wire->corrupted;
    sum->full += wire->full;
    for (const struct packet *packet = wire->first; packet; packet = packet->next)
        sum->flying++;
}

void wire_count(const struct wire *wire, struct wire_counts *counts)
{
    *counts = (struct wire_counts){0};
    wire_count_add(wire, counts);
}

void wire_check(const struct wire *wire)
{
    struct wire_counts counts;
    uint64_t bytes = 0;
    for (const struct packet *packet = wire->first; packet; packet = packet->next) {
        bytes += packet->size;
        assert(!packet->next || packet->order <= packet->next->order);
        assert(packet->next || packet == wire->last);
    }
    assert(bytes == wire->flying_bytes);
    wire_count(wire, &counts);
    assert(counts.sent + counts.duplicated == counts.received + counts.lost + counts.dead +
                                                  counts.overrun + counts.flushed + counts.flying);
}
