/* multicast_messages: the messages of a multicast while a view runs: put into slots, received from
 * the slots of others, and delivered once they are stable. multicast.c explains the idea; this file
 * calls neither it nor multicast_view.c. */
#include <errno.h>
#include <string.h>

#include "base/compare.h"
#include "sst/multicast/multicast_impl.h"

/* All members of the view have received every number below the result. A row that has no member, or
 * already has a new one, reads 0: then the view is over. */
static uint64_t view_stable(const struct sst_multicast *multicast)
{
    uint64_t stable = UINT64_MAX;
    for (uint32_t i = 0; i < multicast->row_count; i++) {
        uint64_t received = sst_get_u64(multicast->table, multicast->rows[i], RECEIVED);
        stable = least_u64(received, stable);
    }
    return stable;
}

/* ---- slots; with the lock ---- */

uint32_t slots_free(struct sst_multicast *multicast, uint32_t wanted)
{
    uint64_t used = multicast->head - multicast->tail;
    if (multicast->slot_count - used < wanted) {
        uint64_t stable = view_stable(multicast);
        while (multicast->tail != multicast->head &&
               multicast->last[multicast->tail % multicast->slot_count] < stable)
            multicast->tail++;
        used = multicast->head - multicast->tail;
    }
    return (uint32_t)(multicast->slot_count - used);
}

/* Writes to the image of our row; a message, if there is one, follows the head. */
static void slot_fill(struct sst_multicast *multicast, uint64_t slot, struct slot_head head,
                      const void *data)
{
    struct multicast_row *image = sst_own(multicast->table);
    uint32_t index = (uint32_t)(slot % multicast->slot_count);
    uint8_t *to = image->slots + (size_t)index * multicast->stride;
    memcpy(to, &head, sizeof head);
    if (head.size != SLOT_PASSED && head.size)
        memcpy(to + sizeof head, data, head.size);
    multicast->heads[index] = head;
}

void slots_number(struct sst_multicast *multicast, uint64_t from, uint64_t to, uint64_t rounds)
{
    for (uint64_t slot = from; slot < to; slot++) {
        uint32_t index = (uint32_t)(slot % multicast->slot_count);
        rounds += multicast->heads[index].rounds;
        multicast->last[index] =
            multicast->base + (rounds - 1) * multicast->row_count + multicast->own;
    }
}

/* Puts that many filled slots, which hold that many turns. */
static int slots_publish(struct sst_multicast *multicast, uint32_t slots, uint64_t turns)
{
    uint32_t stride = multicast->stride;
    uint32_t first = (uint32_t)(multicast->head % multicast->slot_count);
    uint32_t to_end = multicast->slot_count - first;
    uint32_t behind = least_u32(slots, to_end);
    struct sst_range ranges[] = {
        {SLOTS, first * stride, behind * stride},
        {SLOTS, 0, (slots - behind) * stride},
    };
    int result = sst_publish(multicast->table, ranges, slots > behind ? 2 : 1, SENT,
                             multicast->sent + turns, NULL);
    if (result < 0)
        return result;
    slots_number(multicast, multicast->head, multicast->head + slots,
                 multicast->sent - multicast->start);
    multicast->head += slots;
    multicast->sent += turns;
    return 0;
}

int slots_send(struct sst_multicast *multicast, const struct iovec *messages,
               unsigned message_count)
{
    if (multicast->phase == PHASE_EXPELLED)
        return -ESTALE;
    if (multicast->phase != PHASE_RUNNING)
        return 0;
    uint32_t room = slots_free(multicast, least_u32(message_count, multicast->slot_count));
    uint32_t slots = least_u32(message_count, room);
    if (slots == 0)
        return 0;
    for (uint32_t i = 0; i < slots; i++)
        slot_fill(multicast, multicast->head + i,
                  (struct slot_head){(uint32_t)messages[i].iov_len, 1}, messages[i].iov_base);
    int result = slots_publish(multicast, slots, slots);
    if (result)
        return result;
    count(&multicast->counters.sent, slots);
    count(&multicast->counters.sent_batches, 1);
    return (int)slots;
}

/* Passes turns until `needed` turns are filled. Passes none if no slot is free: then the others
 * must first receive messages of ours. Returns whether it passed any. */
static bool turns_pass(struct sst_multicast *multicast, uint64_t needed)
{
    bool passed = false;
    monitor_take(&multicast->lock);
    uint64_t filled = multicast->sent - multicast->start;
    if (filled < needed && slots_free(multicast, 1)) {
        uint64_t turns = least_u64(needed - filled, UINT32_MAX);
        slot_fill(multicast, multicast->head, (struct slot_head){SLOT_PASSED, (uint32_t)turns},
                  NULL);
        passed = slots_publish(multicast, 1, turns) == 0;
    }
    monitor_drop(&multicast->lock);
    count(&multicast->counters.nulls, passed);
    return passed;
}

/* ---- the detector: messages ---- */

void multicast_deliver(struct sst_multicast *multicast, uint64_t below)
{
    const struct sst_multicast_message *messages;
    unsigned ready;
    while ((ready = order_ready(&multicast->order, below, UINT32_MAX, &messages)) > 0) {
        atomic_store_explicit(&multicast->calling, (uintptr_t)pthread_self(), memory_order_relaxed);
        multicast->deliver(multicast, messages, ready, multicast->argument);
        multicast_calls(multicast, false);
        order_pop(&multicast->order, ready);
        count(&multicast->counters.delivered, ready);
        count(&multicast->counters.delivered_batches, 1);
    }
}

static void waiters_wake(struct sst_multicast *multicast)
{
    monitor_take(&multicast->lock);
    if (multicast->waiters)
        monitor_wake(&multicast->lock);
    monitor_drop(&multicast->lock);
}

/* Returns how many turns of the view the sender has filled according to its row. */
static uint64_t sender_sent(const struct sst_multicast *multicast, uint32_t index)
{
    uint64_t sent = sst_get_u64(multicast->table, multicast->rows[index], SENT);
    uint64_t seen = multicast->order.senders[index].sent;
    /* A smaller number than before means that the row has no member any more. */
    return sent < multicast->starts[index] + seen ? seen : sent - multicast->starts[index];
}

/* False if the table has a later epoch: then rows may belong to other members. */
static bool view_runs(const struct sst_multicast *multicast)
{
    return multicast->phase == PHASE_RUNNING && multicast->epoch == sst_epoch(multicast->table);
}

void multicast_move(struct sst_multicast *multicast)
{
    bool again = true;
    while (again && view_runs(multicast)) {
        bool full;
        for (uint32_t i = 0; i < multicast->row_count; i++)
            multicast->order.senders[i].sent = sender_sent(multicast, i);
        uint64_t received = order_receive(&multicast->order, &full);
        if (received > multicast->received) {
            multicast->received = received;
            sst_set_u64(multicast->table, RECEIVED, received);
        }
        uint64_t needed = order_needed(&multicast->order, multicast->own);
        again =
            needed > multicast->order.senders[multicast->own].sent && turns_pass(multicast, needed);
        uint64_t stable = view_stable(multicast);
        if (stable > multicast->stable) {
            multicast->stable = stable;
            waiters_wake(multicast);
            multicast_deliver(multicast, stable);
            again |= full; /* there is room now */
        }
    }
}

bool multicast_messages_moved(const struct sst *table, void *argument)
{
    const struct sst_multicast *multicast = argument;
    if (!view_runs(multicast))
        return false;
    for (uint32_t i = 0; i < multicast->row_count; i++)
        if (sender_sent(multicast, i) > multicast->order.senders[i].sent)
            return true;
    return view_stable(multicast) > multicast->stable;
}

void multicast_messages_fire(struct sst *table, void *argument)
{
    multicast_move(argument);
}
