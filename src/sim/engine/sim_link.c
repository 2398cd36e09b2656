/* sim_link: see sim_link.h. */
#include "sim/engine/sim_link.h"

#include <string.h>

#include "base/check.h"
#include "base/wide.h"

#define TIME_BITS 16 /* fractional bits of byte_time */

struct sim_link_pace sim_link_pace_make(const struct sim_link_settings *settings)
{
    assert(settings->rate == 0 || settings->rate >= SIM_LINK_RATE_MIN);
    struct sim_link_pace pace = {
        .delay = settings->delay, .overhead = settings->overhead, .buffer = settings->buffer};
    if (settings->rate)
        pace.byte_time = (uint64_t)(((uint128)(8 * PSEC_PER_SECOND) << TIME_BITS) / settings->rate);
    pace.depth_time = (psec)((uint128)settings->depth * pace.byte_time >> TIME_BITS);
    return pace;
}

void sim_link_init(struct sim_link *link, const struct sim_link_pace *pace, struct slab_pool *pool,
                   uint64_t seed, uint64_t stream)
{
    *link = (struct sim_link){.pace = pace, .pool = pool, .rng = rng_make(seed, stream)};
}

void sim_link_set(struct sim_link *link, const struct sim_link_settings *settings)
{
    link->own = sim_link_pace_make(settings);
    link->pace = &link->own;
    link->odd = true; /* packets in flight may be slower */
}

void sim_link_fini(struct sim_link *link)
{
    sim_link_flush(link);
    sim_link_check(link);
}

void sim_link_set_faults(struct sim_link *link, const struct sim_link_faults *faults)
{
    link->faults = *faults;
    link->faulty = faults->loss || faults->corruption || faults->duplication || faults->jitter ||
                   faults->lateness || faults->dead;
    link->overtakes = faults->reorder || faults->lateness || (link->overtakes && link->first);
    link->odd = true;
}

uint32_t sim_link_room(struct sim_link *link, psec now)
{
    if (link->free_at <= now + link->pace->depth_time && !link->stuck)
        return SIM_LINK_FRAME_MAX;
    if (!link->asked)
        link->full++;
    link->asked = true;
    return 0;
}

psec sim_link_room_at(const struct sim_link *link)
{
    psec depth = link->pace->depth_time;
    if (link->stuck)
        return PSEC_NEVER;
    return link->free_at > depth ? link->free_at - depth : 0;
}

/* ---- sending ---- */

__attribute__((noinline)) static void drop(struct sim_link *link, struct packet *const *packets,
                                           unsigned count, uint64_t *counter)
{
    for (unsigned i = 0; i < count; i++)
        slab_lose(link->pool, packets[i]);
    *counter += count;
}

static inline void append(struct sim_link *link, struct packet *packet, psec arrival)
{
    packet->order = arrival;
    packet->next = NULL;
    link->flying_bytes += packet->size;
    if (link->first)
        link->last->next = packet;
    else
        link->first = packet;
    link->last = packet;
}

/* Inserts the packet after all that arrive no later: at the end, unless a fault lets frames
 * overtake. */
static void enqueue(struct sim_link *link, struct packet *packet, psec arrival)
{
    if (!link->first || link->last->order <= arrival) {
        append(link, packet, arrival);
        return;
    }
    packet->order = arrival;
    link->flying_bytes += packet->size;
    struct packet **at = &link->first;
    while ((*at)->order <= arrival)
        at = &(*at)->next;
    packet->next = *at;
    *at = packet;
}

/* True: unread packets fill the buffer of the other end, and these packets are lost. */
static inline bool overruns(struct sim_link *link, struct packet *const *packets, unsigned count)
{
    if (!link->pace->buffer || link->flying_bytes <= link->pace->buffer)
        return false;
    drop(link, packets, count, &link->overrun);
    return true;
}

static void enqueue_frame(struct sim_link *link, struct packet *const *packets, unsigned count,
                          psec arrival)
{
    if (overruns(link, packets, count))
        return;
    for (unsigned i = 0; i < count; i++)
        enqueue(link, packets[i], arrival);
}

static bool happens(struct sim_link *link, uint32_t chance)
{
    return chance && rng_below(&link->rng, SIM_LINK_PARTS) < chance;
}

static void corrupt(struct sim_link *link, struct packet *packet)
{
    packet_seal_hops(packet);
    for (uint64_t bits = 1 + rng_below(&link->rng, 4); bits > 0; bits--) {
        /* Half of the bits are in the header, however long the packet is. */
        uint32_t span = rng_below(&link->rng, 2) ? PACKET_HEADER_SIZE : packet->stored;
        uint64_t bit = rng_below(&link->rng, 8 * (uint64_t)span);
        packet->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    packet->read = false;
    link->corrupted++;
}

/* Postpones the arrival until the packets in flight have arrived; the last in the list arrives
 * last. */
static inline psec in_order(const struct sim_link *link, psec arrival)
{
    return link->first && link->last->order > arrival ? link->last->order : arrival;
}

static psec late(struct sim_link *link, psec arrival)
{
    const struct sim_link_faults *faults = &link->faults;
    if (faults->jitter)
        arrival += rng_below(&link->rng, faults->jitter + 1);
    if (happens(link, faults->lateness))
        arrival += rng_below(&link->rng, faults->late + 1);
    return link->overtakes ? arrival : in_order(link, arrival);
}

static void duplicate(struct sim_link *link, struct packet *const *packets, unsigned count,
                      psec arrival)
{
    for (unsigned i = 0; i < count; i++) {
        struct packet *copy = slab_copy(link->pool, packets[i]);
        if (!copy)
            return;
        link->duplicated++;
        enqueue_frame(link, &copy, 1, arrival);
    }
}

static void send_faulty(struct sim_link *link, struct packet *const *packets, unsigned count,
                        psec arrival)
{
    const struct sim_link_faults *faults = &link->faults;
    if (faults->dead) {
        drop(link, packets, count, &link->dead);
        return;
    }
    if (happens(link, faults->loss)) {
        drop(link, packets, count, &link->lost);
        return;
    }
    /* Before the corruption, so that the duplicate may be intact. */
    bool twice = happens(link, faults->duplication);
    if (twice)
        duplicate(link, packets, count, late(link, arrival));
    if (happens(link, faults->corruption))
        corrupt(link, packets[rng_below(&link->rng, count)]);
    enqueue_frame(link, packets, count, late(link, arrival));
}

/* After the end of jitter, packets that arrive late may still be in flight. */
__attribute__((noinline)) static void send_odd(struct sim_link *link, struct packet *const *packets,
                                               unsigned count, psec arrival)
{
    link->odd = link->faulty || link->first;
    link->overtakes &= link->odd;
    if (link->faulty)
        send_faulty(link, packets, count, arrival);
    else
        enqueue_frame(link, packets, count, link->overtakes ? arrival : in_order(link, arrival));
}

void sim_link_send(struct sim_link *link, psec now, struct packet *const *packets, unsigned count)
{
    assert(count > 0);
    const struct sim_link_pace *pace = link->pace;
    uint64_t bytes = (uint64_t)pace->overhead + packets[0]->size;
    for (unsigned i = 1; i < count; i++)
        bytes += packets[i]->size;
    psec start = link->free_at > now ? link->free_at : now;
    link->free_at = start + (bytes * pace->byte_time >> TIME_BITS);
    link->sent += count;
    link->bytes += bytes;
    if (count > 1)
        link->joined += count - 1;
    psec arrival = link->free_at + pace->delay;
    if (__builtin_expect(link->odd, 0)) {
        send_odd(link, packets, count, arrival);
    } else if (!overruns(link, packets, count)) {
        /* This writes to the last packet in flight, which may not be in the cache. */
        append(link, packets[0], arrival);
        for (unsigned i = 1; i < count; i++)
            append(link, packets[i], arrival);
    }
}

/* ---- receiving ---- */

unsigned sim_link_receive(struct sim_link *link, psec now, struct packet **out, unsigned most)
{
    unsigned count = 0;
    while (count < most && link->first && link->first->order <= now) {
        struct packet *packet = link->first;
        link->first = packet->next;
        link->flying_bytes -= packet->size;
        out[count++] = packet;
    }
    link->received += count;
    return count;
}

void sim_link_lose(struct sim_link *link, psec now)
{
    struct packet *packet;
    while ((packet = link->first) && packet->order <= now) {
        link->first = packet->next;
        link->flying_bytes -= packet->size;
        slab_lose(link->pool, packet);
        link->flushed++;
    }
}

void sim_link_count_add(const struct sim_link *link, struct sim_link_counts *sum)
{
    sum->frames += link->sent - link->joined;
    sum->sent += link->sent;
    sum->bytes += link->bytes;
    sum->received += link->received;
    sum->lost += link->lost;
    sum->dead += link->dead;
    sum->overrun += link->overrun;
    sum->flushed += link->flushed;
    sum->duplicated += link->duplicated;
    sum->corrupted += link->corrupted;
    sum->full += link->full;
    for (const struct packet *packet = link->first; packet; packet = packet->next)
        sum->flying++;
}

void sim_link_count(const struct sim_link *link, struct sim_link_counts *counts)
{
    *counts = (struct sim_link_counts){0};
    sim_link_count_add(link, counts);
}

void sim_link_check(const struct sim_link *link)
{
    struct sim_link_counts counts;
    uint64_t bytes = 0;
    for (const struct packet *packet = link->first; packet; packet = packet->next) {
        bytes += packet->size;
        assert(!packet->next || packet->order <= packet->next->order);
        assert(packet->next || packet == link->last);
    }
    assert(bytes == link->flying_bytes);
    sim_link_count(link, &counts);
    assert(counts.sent + counts.duplicated == counts.received + counts.lost + counts.dead +
                                                  counts.overrun + counts.flushed + counts.flying);
}
