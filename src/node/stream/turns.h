#pragma once
/* turns: which stream may send next on a port, by weights. Pure.
 *
 * Each stream that has something to send waits in the lane of the ports by which it may leave.
 * A stream has a *pass*, which grows by the bytes that it sends, divided by its weight; a port
 * takes the stream with the smallest pass in its lanes. So streams that always have something to
 * send get shares in proportion to their weights, and a stream that leaves over several ports gets
 * no more on a busy one. A stream that had nothing to send does not save up its share. Streams with
 * an answer to send (`urgent`) go first.
 *
 * There are few different sets of ports. Beyond TURNS_LANES lanes the set of a stream is narrowed
 * to one port, whose lane always exists. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/packet.h"

#define TURNS_LANES (2 * PORT_MAX + 1)
#define TURNS_NONE  UINT32_MAX

struct turns_entry {
    uint64_t pass;
    uint32_t weight; /* at least 1 */
    uint32_t at;     /* in the heap of its lane; TURNS_NONE: it does not wait */
    uint8_t lane;
    bool urgent;
};

struct turns_lane {
    port_set ports; /* 0 in lane 0: streams within this server */
    uint32_t count;
    uint32_t *heap; /* numbers of entries; the first is next */
};

struct turns {
    struct turns_entry *entries; /* borrowed */
    struct turns_lane lanes[TURNS_LANES];
    uint32_t lane_count;
    /* The largest pass that each port has served: a stream that begins to wait starts with this
     * pass. The last is for streams within this server. */
    uint64_t served[PORT_MAX + 1];
};

/* Bytes of memory for the lanes; the caller provides it, aligned to 8. */
size_t turns_size(uint32_t entry_count);
void turns_init(struct turns *turns, struct turns_entry *entries, uint32_t entry_count,
                void *memory);

static inline bool turns_waits(const struct turns *turns, uint32_t entry)
{
    return turns->entries[entry].at != TURNS_NONE;
}

/* The entry has something to send by these ports; 0: within this server. It may wait already. */
void turns_wait(struct turns *turns, uint32_t entry, port_set ports);
void turns_leave(struct turns *turns, uint32_t entry); /* it may wait or not */
/* Removes all; the sets of ports of the lanes are forgotten. */
void turns_clear(struct turns *turns);
/* The next entry for that port; it stays where it is. TURNS_NONE: none. */
uint32_t turns_next(struct turns *turns, unsigned port);
uint32_t turns_next_here(struct turns *turns); /* within this server */
/* The entry has sent so many bytes over that port; PORT_MAX: within this server. */
void turns_charge(struct turns *turns, uint32_t entry, unsigned port, uint32_t bytes);
port_set turns_ports(const struct turns *turns); /* for which entries wait */
void turns_check(const struct turns *turns);     /* asserts its invariants */
