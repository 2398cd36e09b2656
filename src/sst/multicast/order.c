#include "sst/multicast/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"

int order_init(struct order *order, uint32_t slot_size, uint32_t slot_count, uint32_t ring_count)
{
    uint32_t stride = (slot_size + 7) & ~7u;
    assert(slot_size && slot_count && ring_count && ring_count <= 1u << 31);
    *order = (struct order){.slot_size = slot_size, .slot_count = slot_count, .ring_count = 1};
    while (order->ring_count < ring_count)
        order->ring_count *= 2;
    order->ring = calloc(order->ring_count, sizeof *order->ring);
    order->origins = calloc(order->ring_count, sizeof *order->origins);
    order->data = calloc(order->ring_count, stride);
    if (!order->ring || !order->origins || !order->data) {
        order_fini(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < order->ring_count; i++)
        order->ring[i].data = order->data + (size_t)i * stride;
    return 0;
}

void order_fini(struct order *order)
{
    free(order->ring);
    free(order->origins);
    free(order->data);
    *order = (struct order){0};
}

static const uint8_t *slot_at(const struct order *order, const struct order_sender *sender)
{
    return sender->slots + sender->slot % order->slot_count * slot_stride(order->slot_size);
}

/* Skips passed turns up to the next message. The values of a malformed slot are bounded. All
 * members read the same slot, so they still compute the same order. */
static void sender_advance(const struct order *order, struct order_sender *sender)
{
    while (!sender->waiting && sender->round < sender->sent) {
        struct slot_head head;
        memcpy(&head, slot_at(order, sender), sizeof head);
        if (head.size == SLOT_PASSED) {
            uint64_t left = sender->sent - sender->round;
            uint64_t rounds = head.rounds ? head.rounds : 1;
            sender->round += least_u64(rounds, left);
            sender->slot++;
        } else {
            sender->size = least_u32(head.size, order->slot_size);
            sender->waiting = true;
        }
    }
}

static void sender_take(struct order *order, uint32_t index, uint64_t number)
{
    struct order_sender *sender = &order->senders[index];
    uint32_t at = order->tail++ & (order->ring_count - 1);
    struct sst_multicast_message *message = &order->ring[at];
    message->size = sender->size;
    message->row = sender->row;
    message->member = sender->member;
    message->sequence = number;
    memcpy((void *)(uintptr_t)message->data, slot_at(order, sender) + sizeof(struct slot_head),
           sender->size);
    order->origins[at] = (struct order_origin){index, sender->slot, sender->round};
    sender->slot++;
    sender->round++;
    sender->waiting = false;
}

/* Returns the first missing turn, counted from the base. */
static uint64_t turns_filled(const struct order *order)
{
    uint64_t filled = UINT64_MAX;
    for (uint32_t i = 0; i < order->sender_count; i++) {
        uint64_t missing = order->senders[i].sent * order->sender_count + i;
        filled = least_u64(missing, filled);
    }
    return filled;
}

uint64_t order_receive(struct order *order, bool *full)
{
    assert(order->sender_count);
    uint64_t filled = turns_filled(order);
    *full = false;
    for (;;) {
        uint64_t round = UINT64_MAX;
        for (uint32_t i = 0; i < order->sender_count; i++) {
            struct order_sender *sender = &order->senders[i];
            sender_advance(order, sender);
            if (sender->waiting && sender->round < round)
                round = sender->round;
        }
        if (round == UINT64_MAX)
            return order->base + filled;
        for (uint32_t i = 0; i < order->sender_count; i++) {
            struct order_sender *sender = &order->senders[i];
            if (!sender->waiting || sender->round != round)
                continue;
            uint64_t turn = round * order->sender_count + i;
            if (turn >= filled)
                return order->base + filled;
            *full = order->tail - order->head == order->ring_count;
            if (*full)
                return order->base + turn;
            sender_take(order, i, order->base + turn);
        }
    }
}

uint64_t order_needed(const struct order *order, uint32_t index)
{
    uint64_t needed = 0;
    for (uint32_t i = 0; i < order->sender_count; i++) {
        uint64_t sent = order->senders[i].sent;
        /* A sender that comes later in a round waits for this sender's turn in that round. */
        uint64_t turns = i > index || !sent ? sent : sent - 1;
        if (i != index && turns > needed)
            needed = turns;
    }
    return needed;
}

unsigned order_ready(const struct order *order, uint64_t below, unsigned max,
                     const struct sst_multicast_message **messages)
{
    uint32_t at = order->head & (order->ring_count - 1);
    uint64_t kept = order->tail - order->head;
    if (kept > order->ring_count - at)
        kept = order->ring_count - at;
    if (kept > max)
        kept = max;
    *messages = &order->ring[at];
    unsigned count = 0;
    while (count < kept && order->ring[at + count].sequence < below)
        count++;
    return count;
}

void order_pop(struct order *order, unsigned count)
{
    assert(count <= order->tail - order->head);
    order->head += count;
}

struct order_origin order_cut(struct order *order, uint32_t index)
{
    struct order_origin first = {
        .sender = index,
        .slot = order->senders[index].slot,
        .round = order->senders[index].round,
    };
    while (order->tail != order->head) {
        uint32_t at = --order->tail & (order->ring_count - 1);
        if (order->origins[at].sender == index)
            first = order->origins[at];
    }
    return first;
}
