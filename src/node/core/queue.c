/* queue: lanes of packets, and for each port the lanes it is in.
 *
 * Every kind orders packets by one number, the *rank*, smallest first: the number of the arrival,
 * its complement (newest first), or the inverted priority in the bits above that number. A lane is
 * a list by rank. The next packet of a port is the smallest of its lanes' heads, and the packet to
 * drop is the largest of all lanes' tails, for every kind.
 *
 * Lane n < port_count belongs to port n alone. The other lanes are assigned to sets of ports as
 * they occur; when all are assigned, an empty one gets a new set. `hints` gives the lane that last
 * had a set. Sets of ports 0 to 6 have an entry each; other sets share these entries, so a hint is
 * a guess that is checked.
 *
 * Invariants: bit n of busy is set iff lane n holds packets; bit n of members[p] is set iff lane
 * n's set has p; ports is the union of the sets of busy lanes. */

#include "node/core/queue.h"

#include <string.h>

#include "node/core/queue_impl.h"

/* At most one lane for each set of ports; and at most one for each port and one for each packet,
 * because each packet may have a different set. */
static unsigned lanes_needed(const struct queue_limits *limits)
{
    uint64_t sets = (1ull << limits->port_count) - 1;
    uint64_t wanted = limits->port_count + (uint64_t)limits->packets;
    uint64_t count = sets < wanted ? sets : wanted;
    return count < QUEUE_LANES ? (unsigned)count : QUEUE_LANES;
}

static size_t size_lanes(const struct queue_limits *limits)
{
    return lanes_needed(limits) * sizeof(struct lane);
}

static size_t size_levels(const struct queue_limits *limits)
{
    if (limits->kind != QUEUE_PRIORITY)
        return 0;
    return lanes_needed(limits) * sizeof(struct level_lane) + PRIORITIES * sizeof(struct level);
}

static size_t size_members(const struct queue_limits *limits)
{
    return limits->port_count * sizeof(uint64_t);
}

size_t queue_size(const struct queue_limits *limits)
{
    size_t size =
        sizeof(struct queue) + size_members(limits) + size_lanes(limits) + size_levels(limits);
    return (size + 63) & ~(size_t)63;
}

struct queue *queue_init(void *memory, const struct queue_limits *limits)
{
    assert((uintptr_t)memory % 64 == 0);
    assert(limits->packets >= 1 && limits->bytes >= PACKET_SIZE_MAX);
    assert(limits->port_count >= 1 && limits->port_count <= PORT_MAX);
    memset(memory, 0, queue_size(limits));
    struct queue *queue = memory;
    queue->kind = (uint8_t)limits->kind;
    queue->packets_max = limits->packets;
    queue->bytes_max = limits->bytes;
    queue->port_count = (uint8_t)limits->port_count;
    queue->lane_count = (uint8_t)lanes_needed(limits);
    queue->lanes_used = queue->port_count;
    queue->members = (uint64_t *)(queue + 1);
    queue->lanes = (struct lane *)(queue->members + limits->port_count);
    if (limits->kind == QUEUE_PRIORITY) {
        queue->level_lanes = (struct level_lane *)(queue->lanes + queue->lane_count);
        queue->levels = (struct level *)(queue->level_lanes + queue->lane_count);
    }
    for (unsigned port = 0; port < limits->port_count; port++) {
        queue->lanes[port].ports = 1u << port;
        queue->members[port] = 1ull << port;
    }
    return queue;
}

static uint64_t rank_of(const struct queue *queue, const struct packet *packet)
{
    return queue_rank((enum queue_kind)queue->kind, packet);
}

/* ---- lanes ---- */

/* The set itself if it has only ports 0 to 6, otherwise a hash of it. */
static unsigned hint_of(port_set ports)
{
    if (ports < HINTS)
        return ports;
    return (ports ^ ports >> 7 ^ ports >> 14 ^ ports >> 21 ^ ports >> 28) % HINTS;
}

static void lane_assign(struct queue *queue, unsigned index, port_set ports)
{
    for (port_set left = queue->lanes[index].ports; left; left &= left - 1)
        queue->members[__builtin_ctz(left)] &= ~(1ull << index);
    for (port_set left = ports; left; left &= left - 1)
        queue->members[__builtin_ctz(left)] |= 1ull << index;
    queue->lanes[index].ports = ports;
}

/* A lane that may get a new set: one that never had a set, or else an empty one, in turn. */
static unsigned lane_spare(struct queue *queue)
{
    if (queue->lanes_used < queue->lane_count)
        return queue->lanes_used++;
    uint64_t all = queue->lane_count == 64 ? UINT64_MAX : (1ull << queue->lane_count) - 1;
    uint64_t idle = ~queue->busy & all & ~((1ull << queue->port_count) - 1);
    if (!idle)
        return NO_LANE;
    uint64_t ahead = idle & UINT64_MAX << queue->hand;
    unsigned index = (unsigned)__builtin_ctzll(ahead ? ahead : idle);
    queue->hand = (index + 1) % 64;
    return index;
}

/* The lane of that set, assigned if necessary; NO_LANE: all lanes are busy with other sets. */
static unsigned lane_search(struct queue *queue, port_set ports)
{
    unsigned index = 0;
    while (index < queue->lanes_used && queue->lanes[index].ports != ports)
        index++;
    if (index == queue->lanes_used) {
        index = lane_spare(queue);
        if (index == NO_LANE)
            return NO_LANE;
        lane_assign(queue, index, ports);
    }
    queue->hints[hint_of(ports)] = (uint8_t)index;
    return index;
}

/* One port of the set, not always the same. */
static port_set narrowed(port_set ports, uint64_t turn)
{
    port_set ahead = ports & UINT32_MAX << turn % 32;
    port_set left = ahead ? ahead : ports;
    return left & -left;
}

/* Handles a set whose hint is wrong. */
__attribute__((noinline)) static unsigned lane_elsewhere(struct queue *queue, struct packet *packet)
{
    assert(packet->ports && !((uint64_t)packet->ports >> queue->port_count));
    unsigned index = lane_search(queue, packet->ports);
    if (index != NO_LANE)
        return index;
    packet->ports = narrowed(packet->ports, queue->arrivals);
    return (unsigned)__builtin_ctz(packet->ports);
}

static inline unsigned lane_for(struct queue *queue, struct packet *packet)
{
    unsigned index = queue->hints[hint_of(packet->ports)];
    if (__builtin_expect(queue->lanes[index].ports == packet->ports, 1))
        return index;
    return lane_elsewhere(queue, packet);
}

static struct packet *lane_predecessor(const struct queue *queue, unsigned index,
                                       const struct packet *packet)
{
    uint32_t before = queue->lanes[index].levels >> packet->priority;
    if (!before)
        return NULL;
    return queue->level_lanes[index].last[packet->priority + __builtin_ctz(before)];
}

/* ---- in and out ---- */

static void level_enter(struct queue *queue, unsigned index, struct packet *packet)
{
    assert(packet->priority <= PACKET_PRIORITY_MAX);
    queue->lanes[index].levels |= 1u << packet->priority;
    queue->level_lanes[index].last[packet->priority] = packet;
    queue->levels[packet->priority].packets++;
    queue->levels[packet->priority].bytes += packet->size;
}

void queue_level_leave(struct queue *queue, unsigned index, const struct packet *packet)
{
    unsigned priority = packet->priority;
    struct packet **last = &queue->level_lanes[index].last[priority];
    if (*last == packet) {
        *last =
            packet->previous && packet->previous->priority == priority ? packet->previous : NULL;
        if (!*last)
            queue->lanes[index].levels &= ~(1u << priority);
    }
    queue->levels[priority].packets--;
    queue->levels[priority].bytes -= packet->size;
}

/* Inlined for each kind. */
__attribute__((always_inline)) static inline void
packet_enter(struct queue *queue, enum queue_kind kind, struct packet *packet)
{
    unsigned index = lane_for(queue, packet);
    struct lane *lane = &queue->lanes[index];
    struct packet *after = kind == QUEUE_FIFO     ? lane->last
                           : kind == QUEUE_NEWEST ? NULL
                                                  : lane_predecessor(queue, index, packet);
    packet->order = queue->arrivals++;
    packet->previous = after;
    packet->next = kind == QUEUE_FIFO ? NULL : after ? after->next : lane->first;
    if (packet->next)
        packet->next->previous = packet;
    else
        lane->last = packet;
    if (__builtin_expect(after != NULL, 1)) {
        after->next = packet;
    } else {
        lane->first = packet;
        lane->rank = queue_rank(kind, packet);
        queue->busy |= 1ull << index;
        queue->ports |= lane->ports;
    }
    if (kind == QUEUE_PRIORITY)
        level_enter(queue, index, packet);
    queue->packets++;
    queue->bytes += packet->size;
}

/* Removes the last packet of a lane. */
static void take_last(struct queue *queue, unsigned index)
{
    struct lane *lane = &queue->lanes[index];
    struct packet *packet = lane->last;
    if (lane->first == packet) {
        queue_take_first(queue, index);
        return;
    }
    if (queue->kind == QUEUE_PRIORITY)
        queue_level_leave(queue, index, packet);
    queue->packets--;
    queue->bytes -= packet->size;
    lane->last = packet->previous;
    lane->last->next = NULL;
}

/* ---- full queues ---- */

static bool fits(const struct queue *queue, uint32_t size)
{
    return queue->packets < queue->packets_max && size <= queue->bytes_max - queue->bytes;
}

/* Would the new packet fit if all packets of larger rank were dropped? If not, none is dropped. */
static bool may_displace(const struct queue *queue, const struct packet *packet)
{
    if (queue->kind == QUEUE_FIFO)
        return false;
    if (queue->kind == QUEUE_NEWEST)
        return packet->size <= queue->bytes_max;
    struct level lower = {0};
    for (unsigned priority = 0; priority < packet->priority; priority++) {
        lower.packets += queue->levels[priority].packets;
        lower.bytes += queue->levels[priority].bytes;
    }
    return queue->packets - lower.packets < queue->packets_max &&
           packet->size <= queue->bytes_max - (queue->bytes - lower.bytes);
}

/* Removes the packet of the largest rank. */
static struct packet *take_worst(struct queue *queue)
{
    uint64_t worst = 0;
    unsigned found = NO_LANE;
    for (uint64_t left = queue->busy; left; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctzll(left);
        uint64_t rank = rank_of(queue, queue->lanes[index].last);
        if (found == NO_LANE || rank > worst) {
            worst = rank;
            found = index;
        }
    }
    assert(found != NO_LANE);
    struct packet *packet = queue->lanes[found].last;
    take_last(queue, found);
    return packet;
}

/* A separate function, so that the common path stays short. */
__attribute__((noinline)) static void enter_ordered(struct queue *queue, struct packet *packet)
{
    if (queue->kind == QUEUE_PRIORITY)
        packet_enter(queue, QUEUE_PRIORITY, packet);
    else
        packet_enter(queue, QUEUE_NEWEST, packet);
}

__attribute__((noinline)) static struct packet *push_full(struct queue *queue,
                                                          struct packet *packet)
{
    if (!may_displace(queue, packet)) {
        packet->next = packet->previous = NULL;
        return packet;
    }
    struct packet *gone = NULL;
    while (!fits(queue, packet->size)) {
        struct packet *victim = take_worst(queue);
        victim->next = gone;
        gone = victim;
    }
    enter_ordered(queue, packet);
    return gone;
}

struct packet *queue_push(struct queue *queue, struct packet *packet)
{
    if (__builtin_expect(!fits(queue, packet->size), 0))
        return push_full(queue, packet);
    if (__builtin_expect(queue->kind == QUEUE_FIFO, 1))
        packet_enter(queue, QUEUE_FIFO, packet);
    else
        enter_ordered(queue, packet);
    return NULL;
}

struct packet *queue_peek(struct queue *queue, unsigned port)
{
    assert(port < queue->port_count);
    unsigned index = queue_next_lane(queue, port);
    if (index == NO_LANE)
        return NULL;
    queue->peeked = (uint8_t)index;
    return queue->lanes[index].first;
}

void queue_take(struct queue *queue, unsigned port, struct packet *packet)
{
    assert(queue->lanes[queue->peeked].first == packet && packet->ports >> port & 1);
    queue_take_first(queue, queue->peeked);
}

port_set queue_ports(const struct queue *queue)
{
    return queue->ports;
}

uint32_t queue_packets(const struct queue *queue)
{
    return queue->packets;
}

uint32_t queue_bytes(const struct queue *queue)
{
    return queue->bytes;
}

/* ---- emptying ---- */

/* Merges two lists in order of arrival. */
static struct packet *merged(struct packet *one, struct packet *other)
{
    struct packet *first = NULL;
    struct packet **end = &first;
    while (one && other) {
        struct packet **earlier = one->order < other->order ? &one : &other;
        *end = *earlier;
        end = &(*earlier)->next;
        *earlier = (*earlier)->next;
    }
    *end = one ? one : other;
    return first;
}

/* Merge sort: run n of `runs` has 2^n packets or none, like the digits of a binary counter. */
static struct packet *by_arrival(struct packet *list)
{
    struct packet *runs[32] = {NULL};
    while (list) {
        struct packet *run = list;
        list = list->next;
        run->next = NULL;
        run->previous = NULL;
        unsigned n = 0;
        for (; runs[n]; n++) {
            run = merged(runs[n], run);
            runs[n] = NULL;
        }
        runs[n] = run;
    }
    struct packet *all = NULL;
    for (unsigned n = 0; n < 32; n++)
        all = merged(runs[n], all);
    return all;
}

struct packet *queue_empty(struct queue *queue)
{
    struct packet *all = NULL;
    for (uint64_t left = queue->busy; left; left &= left - 1) {
        struct lane *lane = &queue->lanes[__builtin_ctzll(left)];
        lane->last->next = all;
        all = lane->first;
        lane->first = lane->last = NULL;
        lane->levels = 0;
    }
    if (queue->kind == QUEUE_PRIORITY)
        memset(queue->levels, 0, PRIORITIES * sizeof *queue->levels);
    queue->busy = 0;
    queue->ports = 0;
    queue->packets = 0;
    queue->bytes = 0;
    return by_arrival(all);
}

/* ---- invariants ---- */

static void check_levels(const struct queue *queue, unsigned index)
{
    const struct lane *lane = &queue->lanes[index];
    uint32_t levels = 0;
    for (const struct packet *packet = lane->first; packet; packet = packet->next) {
        levels |= 1u << packet->priority;
        if (!packet->next || packet->next->priority != packet->priority)
            assert(queue->level_lanes[index].last[packet->priority] == packet);
    }
    assert(levels == lane->levels);
}

static void check_lane(const struct queue *queue, unsigned index, struct level *total)
{
    const struct lane *lane = &queue->lanes[index];
    assert(!lane->first == !(queue->busy >> index & 1));
    if (!lane->first)
        return;
    assert(lane->rank == rank_of(queue, lane->first));
    const struct packet *previous = NULL;
    for (const struct packet *packet = lane->first; packet; packet = packet->next) {
        assert(packet->previous == previous && packet->ports == lane->ports);
        assert(!previous || rank_of(queue, previous) < rank_of(queue, packet));
        total->packets++;
        total->bytes += packet->size;
        previous = packet;
    }
    assert(lane->last == previous);
    if (queue->kind == QUEUE_PRIORITY)
        check_levels(queue, index);
}

void queue_check(const struct queue *queue)
{
    struct level total = {0};
    port_set ports = 0;
    for (unsigned index = 0; index < queue->lanes_used; index++) {
        const struct lane *lane = &queue->lanes[index];
        check_lane(queue, index, &total);
        if (lane->first)
            ports |= lane->ports;
        for (unsigned port = 0; port < queue->port_count; port++)
            assert((queue->members[port] >> index & 1) == (lane->ports >> port & 1));
        if (index < queue->port_count)
            assert(lane->ports == 1u << index);
    }
    assert(queue->lanes_used == 64 || !(queue->busy >> queue->lanes_used));
    assert(ports == queue->ports);
    assert(total.packets == queue->packets && total.bytes == queue->bytes);
    assert(queue->packets <= queue->packets_max && queue->bytes <= queue->bytes_max);
    struct level sum = {0};
    for (unsigned priority = 0; queue->levels && priority < PRIORITIES; priority++) {
        sum.packets += queue->levels[priority].packets;
        sum.bytes += queue->levels[priority].bytes;
    }
    assert(!queue->levels || (sum.packets == total.packets && sum.bytes == total.bytes));
}
