#pragma once
/* order: merges the messages of several senders into the one order in which all members of a
 * multicast deliver them. Pure.
 *
 * Each sender has a turn in every round: the message of round r from sender i of n has the number
 * base + r * n + i, and numbers are delivered in order. A sender without a message passes its
 * turns, many of them in one slot. Messages are copied once from a sender's ring of slots to memory
 * here, so that neither later messages nor the death of the sender can destroy them before they are
 * delivered.
 *
 * Invariants: the kept messages are in the order of their numbers; every number below the last
 * result of order_receive is kept here, was popped, or was a passed turn. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/sst_multicast.h>

#include "base/err.h"

/* The beginning of a slot in the table; its message follows. */
struct slot_head {
    uint32_t size;   /* bytes of the message, or SLOT_PASSED */
    uint32_t rounds; /* turns passed, or 1 */
};
#define SLOT_PASSED UINT32_MAX

static inline uint32_t slot_stride(uint32_t slot_size)
{
    return (uint32_t)sizeof(struct slot_head) + ((slot_size + 7) & ~7u);
}

struct order_sender {
    const uint8_t *slots; /* its ring; borrowed */
    uint32_t row;
    ripc_id member;
    uint64_t sent;  /* rounds that it has filled */
    uint64_t round; /* the first round that was not taken */
    uint64_t slot;  /* the slot of that round; counted without wrapping at the end of the ring */
    uint32_t size;  /* of the message in that slot, if `waiting` */
    bool waiting;   /* the slot holds a message that was not taken */
};

/* The origin of a message. */
struct order_origin {
    uint32_t sender; /* its index */
    uint64_t slot;
    uint64_t round;
};

struct order {
    uint32_t slot_size, slot_count;
    uint32_t ring_count; /* a power of two */
    struct sst_multicast_message *ring;
    struct order_origin *origins;
    uint8_t *data;       /* of the ring, stride bytes each */
    uint64_t head, tail; /* of the ring: the next to pop, the next to fill; they only grow */
    uint64_t base;       /* the number of the first turn */
    uint32_t sender_count;
    struct order_sender senders[SST_ROWS_MAX];
};

/* Rounds ring_count up to a power of two. -ENOMEM. */
MUST_CHECK int order_init(struct order *order, uint32_t slot_size, uint32_t slot_count,
                          uint32_t ring_count);
void order_fini(struct order *order);

/* Takes messages that the senders have filled (the caller has updated their `sent`) until a turn is
 * missing or there is no room. Returns the first number that it did not take; *full is true if it
 * stopped for lack of room. */
uint64_t order_receive(struct order *order, bool *full);

/* Returns how many turns the sender of that index must have filled so that everything that the
 * others have filled can be taken. */
uint64_t order_needed(const struct order *order, uint32_t index);

/* Returns how many of the next messages have a number less than `below` and are contiguous in
 * memory, at most `max`; order_pop removes them. */
unsigned order_ready(const struct order *order, uint64_t below, unsigned max,
                     const struct sst_multicast_message **messages);
void order_pop(struct order *order, unsigned count);

/* Discards all kept messages: the turns from the cut on will not be delivered. Returns the position
 * of that sender's first message or turn that was not delivered. To be called when everything below
 * the cut was popped. */
struct order_origin order_cut(struct order *order, uint32_t index);
