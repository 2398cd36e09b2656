#pragma once
/* order: the messages of several senders in the one order in which all members of a
 * multicast deliver them. Pure.
 *
 * Each sender has a turn in every round: the message of round r of sender i of n has the
 * number base + r * n + i, and numbers are delivered in their order. A sender that has
 * nothing to say passes its turns, many of them in one slot. What lies in a sender's ring of slots
 * is read once and copied here, so that neither the sender's next messages nor its end can
 * take it away before it is delivered.
 *
 * Invariants: the messages kept are in the order of their numbers; whatever has a smaller
 * number than the last result of order_receive is kept here, was popped, or was a turn that was
 * passed. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/sst_multicast.h>

#include "base/err.h"

/* The begin of a slot in the table; its message follows. */
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
    uint64_t sent;  /* rounds it has filled */
    uint64_t round; /* the first of them that was not taken */
    uint64_t slot;  /* where that lies: counted, not yet modulo the ring */
    uint32_t size;  /* of the message there, if it waits */
    bool waiting;   /* a message was found there and not taken */
};

/* Where a message came from. */
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

/* ring_count is rounded up. -ENOMEM. */
MUST_CHECK int order_init(struct order *order, uint32_t slot_size, uint32_t slot_count,
                          uint32_t ring_count);
void order_fini(struct order *order);

/* Takes what the senders have filled (the caller has brought their `sent` up to date) as far
 * as nobody's turn is missing and there is room. Returns the first number that it did not take;
 * *full says that it was for want of room. */
uint64_t order_receive(struct order *order, bool *full);

/* How many turns the sender of that index must have filled so that whatever the
 * others have filled can be taken. */
uint64_t order_needed(const struct order *order, uint32_t index);

/* The next messages below that number, one after the other in memory; order_pop forgets as
 * many of them. */
unsigned order_ready(const struct order *order, uint64_t below, unsigned max,
                     const struct sst_multicast_message **messages);
void order_pop(struct order *order, unsigned count);

/* The turns from `cut` on will not be delivered: forgets their messages. Says where the
 * first thing of that sender lies that was not delivered. To be called when all below the cut
 * was popped. */
struct order_origin order_cut(struct order *order, uint32_t index);
