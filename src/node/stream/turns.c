#include "node/stream/turns.h"

#include "base/check.h"

#define PASS_UNIT 65536 /* of a byte at weight 1: the largest weight */

size_t turns_size(uint32_t entry_count)
{
    return (size_t)TURNS_LANES * entry_count * sizeof(uint32_t);
}

void turns_init(struct turns *turns, struct turns_entry *entries, uint32_t entry_count,
                void *memory)
{
    uint32_t *heap = memory;
    *turns = (struct turns){.entries = entries};
    for (unsigned i = 0; i < TURNS_LANES; i++)
        turns->lanes[i].heap = heap + (size_t)i * entry_count;
    for (uint32_t i = 0; i < entry_count; i++)
        entries[i] = (struct turns_entry){.weight = 1, .at = TURNS_NONE};
    turns_clear(turns);
}

void turns_clear(struct turns *turns)
{
    for (unsigned i = 0; i < TURNS_LANES; i++) {
        struct turns_lane *lane = &turns->lanes[i];
        for (uint32_t at = 0; at < lane->count; at++)
            turns->entries[lane->heap[at]].at = TURNS_NONE;
        lane->count = 0;
        lane->ports = i >= 1 && i <= PORT_MAX ? (port_set)1 << (i - 1) : 0;
    }
    turns->lane_count = 1 + PORT_MAX;
}

/* ---- the heap of a lane ---- */

static bool is_before(const struct turns *turns, uint32_t one, uint32_t other)
{
    const struct turns_entry *left = &turns->entries[one], *right = &turns->entries[other];
    if (left->urgent != right->urgent)
        return left->urgent;
    return left->pass != right->pass ? left->pass < right->pass : one < other;
}

static void heap_place(struct turns *turns, struct turns_lane *lane, uint32_t at, uint32_t entry)
{
    lane->heap[at] = entry;
    turns->entries[entry].at = at;
}

/* Moves the entry at that position up or down to where it belongs. */
static void heap_settle(struct turns *turns, struct turns_lane *lane, uint32_t at)
{
    uint32_t entry = lane->heap[at];
    for (; at && is_before(turns, entry, lane->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_place(turns, lane, at, lane->heap[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < lane->count; at = child) {
        if (child + 1 < lane->count && is_before(turns, lane->heap[child + 1], lane->heap[child]))
            child++;
        if (!is_before(turns, lane->heap[child], entry))
            break;
        heap_place(turns, lane, at, lane->heap[child]);
    }
    heap_place(turns, lane, at, entry);
}

/* ---- waiting ---- */

/* The lane for these ports. */
static unsigned lane_find(struct turns *turns, port_set ports)
{
    if (!ports)
        return 0;
    if (!(ports & (ports - 1)))
        return 1 + (unsigned)__builtin_ctz(ports);
    for (unsigned i = 1 + PORT_MAX; i < turns->lane_count; i++)
        if (turns->lanes[i].ports == ports)
            return i;
    if (turns->lane_count == TURNS_LANES)
        return 1 + (unsigned)__builtin_ctz(ports);
    turns->lanes[turns->lane_count].ports = ports;
    return turns->lane_count++;
}

/* The smallest pass at which one of the ports serves its streams. */
static uint64_t pass_now(const struct turns *turns, port_set ports)
{
    if (!ports)
        return turns->served[PORT_MAX];
    uint64_t least = UINT64_MAX;
    for (; ports; ports &= ports - 1) {
        uint64_t served = turns->served[__builtin_ctz(ports)];
        least = served < least ? served : least;
    }
    return least;
}

void turns_wait(struct turns *turns, uint32_t number, port_set ports)
{
    struct turns_entry *entry = &turns->entries[number];
    unsigned found = lane_find(turns, ports);
    if (entry->at != TURNS_NONE && entry->lane != found)
        turns_leave(turns, number);
    struct turns_lane *lane = &turns->lanes[found];
    if (entry->at == TURNS_NONE) {
        uint64_t pass = pass_now(turns, turns->lanes[found].ports);
        entry->pass = entry->pass > pass ? entry->pass : pass;
        entry->lane = (uint8_t)found;
        heap_place(turns, lane, lane->count++, number);
    }
    heap_settle(turns, lane, entry->at);
}

void turns_leave(struct turns *turns, uint32_t number)
{
    struct turns_entry *entry = &turns->entries[number];
    if (entry->at == TURNS_NONE)
        return;
    struct turns_lane *lane = &turns->lanes[entry->lane];
    uint32_t at = entry->at, last = lane->heap[--lane->count];
    entry->at = TURNS_NONE;
    if (last == number)
        return;
    heap_place(turns, lane, at, last);
    heap_settle(turns, lane, at);
}

static uint32_t first_of(const struct turns_lane *lane)
{
    return lane->count ? lane->heap[0] : TURNS_NONE;
}

uint32_t turns_next(struct turns *turns, unsigned port)
{
    uint32_t best = first_of(&turns->lanes[1 + port]);
    for (unsigned i = 1 + PORT_MAX; i < turns->lane_count; i++) {
        const struct turns_lane *lane = &turns->lanes[i];
        if (!lane->count || !(lane->ports >> port & 1))
            continue;
        if (best == TURNS_NONE || is_before(turns, lane->heap[0], best))
            best = lane->heap[0];
    }
    return best;
}

uint32_t turns_next_here(struct turns *turns)
{
    return first_of(&turns->lanes[0]);
}

void turns_charge(struct turns *turns, uint32_t number, unsigned port, uint32_t bytes)
{
    struct turns_entry *entry = &turns->entries[number];
    if (entry->pass > turns->served[port])
        turns->served[port] = entry->pass;
    uint64_t pass = (uint64_t)bytes * PASS_UNIT;
    entry->pass += entry->weight == 1 ? pass : pass / entry->weight; /* a division takes long */
    if (entry->at != TURNS_NONE)
        heap_settle(turns, &turns->lanes[entry->lane], entry->at);
}

port_set turns_ports(const struct turns *turns)
{
    port_set ports = 0;
    for (unsigned i = 1; i < turns->lane_count; i++)
        if (turns->lanes[i].count)
            ports |= turns->lanes[i].ports;
    return ports;
}

void turns_check(const struct turns *turns)
{
    for (unsigned i = 0; i < TURNS_LANES; i++) {
        const struct turns_lane *lane = &turns->lanes[i];
        assert(!lane->count || i < turns->lane_count);
        for (uint32_t at = 0; at < lane->count; at++) {
            assert(turns->entries[lane->heap[at]].at == at);
            assert(turns->entries[lane->heap[at]].lane == i);
            assert(!at || !is_before(turns, lane->heap[at], lane->heap[(at - 1) / 2]));
        }
    }
}
