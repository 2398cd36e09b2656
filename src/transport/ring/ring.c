/* ring: how the segment is used.
 *
 * A slot is two cache lines. Its stamp gives the position for which it was filled, and is written
 * last. So the receiver needs no index of the sender's (one cache line less to fetch), and does not
 * mistake a frame of the previous lap for a new one. The other direction is rare: the receiver
 * publishes how far it has released only after an eighth of the ring, or when it has nothing else
 * to do.
 *
 * Invariants: head <= tail <= head + slots at the sender, published <= head <= next at the
 * receiver. All of these are private, and what is read from the segment must be consistent with
 * them. Bodies too large for a slot are in the area in the order of their frames, each contiguous:
 * if a body does not fit before the end of the area, the rest up to the end is skipped. */
#include "transport/ring/ring.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

#define LINE         64
#define PREFETCH_MAX 1536 /* bytes of a body that are prefetched when it is pulled */
#define COPY_AHEAD   512  /* bytes that are prefetched ahead of the copy */

struct ring_segment {
    /* Written by the receiver with release: the sender may overwrite the frames before it. Read by
     * the sender with acquire, and checked. */
    alignas(2 * LINE) _Atomic uint64_t head;
};

/* An acknowledgement. The stamp is its position plus one. The receiver writes it last, with
 * release; the sender reads it with acquire. */
struct ring_answer {
    _Atomic uint64_t stamp;
    uint64_t token;
    int64_t status;
    uint64_t unused;
};

struct ring_slot {
    /* The frame's position plus one in the low half, its size in the high half. The sender writes
     * it last, with release; the receiver's acquire makes the rest of the slot visible. */
    alignas(2 * LINE) _Atomic uint64_t stamp;
    struct frame_head head;
    union {
        uint8_t body[RING_INLINE_MAX];
        uint32_t offset; /* position of a larger body in the area */
    };
};
static_assert(sizeof(struct ring_slot) == 2 * LINE, "the body fills the second line");

#define SLOTS_MIN     8
#define SLOTS_DEFAULT 512
#define SLOTS_MAX     65536
#define BYTES_MIN     (32u << 10) /* so that the largest body always fits an empty area */
#define BYTES_DEFAULT (256u << 10)
#define BYTES_MAX     (64u << 20)
static_assert(BYTES_MIN >= 2 * (FRAME_BODY_MAX + LINE), "one always fits");

/* In smaller areas the receiver announces all credit: see receiver_publish. */
#define QUIET_BYTES_MIN (64u << 10)
static_assert(QUIET_BYTES_MIN - 3 * (FRAME_BODY_MAX + LINE) >= 2 * (QUIET_BYTES_MIN / 4),
              "what is left of a full ring is more than a quarter");

/* Each body begins on a cache line. */
static uint64_t area_size_of(uint64_t size)
{
    return (size + LINE - 1) & ~(uint64_t)(LINE - 1);
}

static uint32_t power_between(uint32_t value, uint32_t least, uint32_t most)
{
    uint32_t power = least;
    while (power < value && power < most)
        power *= 2;
    return power;
}

struct ring_shape ring_shape_make(uint32_t slots, uint32_t bytes)
{
    return (struct ring_shape){
        .slots = power_between(slots ? slots : SLOTS_DEFAULT, SLOTS_MIN, SLOTS_MAX),
        .bytes = power_between(bytes ? bytes : BYTES_DEFAULT, BYTES_MIN, BYTES_MAX),
    };
}

bool ring_shape_valid(const struct ring_shape *shape)
{
    return shape->slots && shape->bytes &&
           power_between(shape->slots, SLOTS_MIN, SLOTS_MAX) == shape->slots &&
           power_between(shape->bytes, BYTES_MIN, BYTES_MAX) == shape->bytes;
}

/* Twice the number of slots: a receiver may keep a full ring of operations unacknowledged while
 * other frames come and go. */
uint32_t ring_token_max(const struct ring_shape *shape)
{
    return 2 * shape->slots;
}

static size_t answers_size(const struct ring_shape *shape)
{
    return ring_token_max(shape) * sizeof(struct ring_answer);
}

static size_t slots_size(const struct ring_shape *shape)
{
    return shape->slots * sizeof(struct ring_slot);
}

size_t ring_size(const struct ring_shape *shape)
{
    return sizeof(struct ring_segment) + answers_size(shape) + slots_size(shape) + shape->bytes;
}

/* The parts follow the segment's head in this order. */
struct ring_parts {
    struct ring_answer *answers;
    struct ring_slot *slots;
    uint8_t *area;
};

static struct ring_parts ring_parts_of(void *segment, const struct ring_shape *shape)
{
    uint8_t *answers = (uint8_t *)segment + sizeof(struct ring_segment);
    uint8_t *slots = answers + answers_size(shape);
    return (struct ring_parts){
        .answers = (struct ring_answer *)answers,
        .slots = (struct ring_slot *)slots,
        .area = slots + slots_size(shape),
    };
}

/* ---- sender ---- */

int ring_sender_init(struct ring_sender *sender, void *segment, const struct ring_shape *shape)
{
    assert(ring_shape_valid(shape));
    struct ring_parts parts = ring_parts_of(segment, shape);
    *sender = (struct ring_sender){
        .segment = segment,
        .answers = parts.answers,
        .slots = parts.slots,
        .area = parts.area,
        .slot_mask = shape->slots - 1,
        .area_size = shape->bytes,
        .answer_mask = ring_token_max(shape) - 1,
        .area_ends = array_new(shape->slots, sizeof *sender->area_ends),
    };
    return sender->area_ends ? 0 : -ENOMEM;
}

void ring_sender_fini(struct ring_sender *sender)
{
    free(sender->area_ends);
    *sender = (struct ring_sender){0};
}

/* Reads how far the receiver has released. */
static int sender_refresh(struct ring_sender *sender)
{
    /* Acquire pairs with the receiver's release: its reads of the slots before
     * head are over, and we may write there. */
    uint64_t head = atomic_load_explicit(&sender->segment->head, memory_order_acquire);
    if (head - sender->head > sender->tail - sender->head) { /* head only advances, up to tail */
        sender->broken = true;
        return -EPROTO;
    }
    if (head == sender->head)
        return -EAGAIN;
    sender->head = head;
    sender->area_head = sender->area_ends[(head - 1) & sender->slot_mask];
    return 0;
}

/* Finds where in the area a body of that size would begin; false if there is no room. */
static bool area_find(const struct ring_sender *sender, size_t size, uint64_t *area_at)
{
    uint64_t begin = sender->area_tail;
    uint64_t offset = begin & (sender->area_size - 1);
    if (offset + size > sender->area_size)
        begin += sender->area_size - offset;
    *area_at = begin;
    return begin + size - sender->area_head <= sender->area_size;
}

static bool sender_fits(const struct ring_sender *sender, size_t size, uint64_t *area_at)
{
    if (sender->tail - sender->head > sender->slot_mask)
        return false;
    return size <= RING_INLINE_MAX || area_find(sender, size, area_at);
}

static int sender_reserve(struct ring_sender *sender, size_t size, bool token, uint64_t *area_at)
{
    if (sender->broken)
        return -EPROTO;
    if (token && sender->tokens > sender->answer_mask)
        return -EAGAIN;
    if (sender_fits(sender, size, area_at))
        return 0;
    int result = sender_refresh(sender);
    if (result)
        return result;
    return sender_fits(sender, size, area_at) ? 0 : -EAGAIN;
}

/* How many bodies of up to that size certainly fit into the area. A body that does not fit at the
 * end of the area begins at its start: that wastes less than one body, and happens at most once. */
static uint64_t area_room(const struct ring_sender *sender, size_t size)
{
    uint64_t free = sender->area_size - (sender->area_tail - sender->area_head);
    return free > size ? (free - size) / area_size_of(size) : 0;
}

unsigned ring_room(struct ring_sender *sender, size_t size)
{
    uint64_t area_at;
    int result = sender_reserve(sender, size, true, &area_at);
    if (result) /* a broken ring reports room, so that the caller pushes and gets the error */
        return result != -EAGAIN;
    uint64_t count = sender->slot_mask + 1 - (sender->tail - sender->head);
    uint64_t tokens = sender->answer_mask + 1 - sender->tokens;
    count = tokens < count ? tokens : count;
    if (size > RING_INLINE_MAX) {
        uint64_t bodies = area_room(sender, size);
        count = bodies < count ? bodies : count;
    }
    return count ? (unsigned)count : 1; /* sender_reserve has found room for one */
}

/* Copies line by line with prefetch: another processor wrote the source lines, and another one read
 * the target lines. For more than 2 KiB memcpy uses a string instruction, which is a tenth to a
 * fifth slower here. */
static void copy(uint8_t *to, const uint8_t *from, size_t size)
{
    for (; size > LINE; size -= LINE, to += LINE, from += LINE) {
        __builtin_prefetch(from + COPY_AHEAD);
        memcpy(to, from, LINE);
    }
    memcpy(to, from, size);
}

static void gather(uint8_t *to, const struct iovec *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (pieces[i].iov_len && pieces[i].iov_base != to) /* else: ring_place */
            copy(to, pieces[i].iov_base, pieces[i].iov_len);
        to += pieces[i].iov_len;
    }
}

/* Writes the head and the stamp of a slot whose body is complete.
 *
 * The head is written last, with the stamp, because both are in one cache line. The receiver polls
 * that line and would take it from us if we wrote to it before the body is complete (then 1,500
 * bytes there and back take 6 % longer in bench/ripc). */
static inline void slot_publish(struct ring_sender *sender, struct ring_slot *slot,
                                uint64_t position, const struct frame_head *head, size_t size)
{
    sender->area_ends[position & sender->slot_mask] = sender->area_tail;
    slot->head = *head;
    /* Release: a receiver that sees the stamp sees the whole frame. */
    atomic_store_explicit(&slot->stamp, (uint64_t)size << 32 | (uint32_t)(position + 1),
                          memory_order_release);
}

/* The usual case: one small piece without a token, and a slot that is known to be free. */
static inline bool push_is_plain(const struct ring_sender *sender, const struct frame_head *head,
                                 const struct iovec *pieces, unsigned piece_count)
{
    return piece_count == 1 && pieces->iov_len <= RING_INLINE_MAX && !head->token &&
           sender->tail - sender->head <= sender->slot_mask && !sender->broken;
}

int ring_push(struct ring_sender *sender, const struct frame_head *head, const struct iovec *pieces,
              unsigned piece_count)
{
    if (push_is_plain(sender, head, pieces, piece_count)) {
        uint64_t position = sender->tail++;
        struct ring_slot *slot = &sender->slots[position & sender->slot_mask];
        if (pieces->iov_len)
            memcpy(slot->body, pieces->iov_base, pieces->iov_len);
        slot_publish(sender, slot, position, head, pieces->iov_len);
        return 0;
    }
    size_t size = 0;
    for (unsigned i = 0; i < piece_count; i++) {
        if (pieces[i].iov_len > FRAME_BODY_MAX - size)
            return -EMSGSIZE;
        size += pieces[i].iov_len;
    }
    uint64_t area_at;
    int result = sender_reserve(sender, size, head->token, &area_at);
    if (result)
        return result;

    uint64_t position = sender->tail++;
    struct ring_slot *slot = &sender->slots[position & sender->slot_mask];
    if (size <= RING_INLINE_MAX) {
        gather(slot->body, pieces, piece_count);
    } else {
        uint64_t offset = area_at & (sender->area_size - 1);
        gather(sender->area + offset, pieces, piece_count);
        slot->offset = (uint32_t)offset;
        sender->area_tail = area_at + area_size_of(size);
    }
    sender->tokens += head->token != 0;
    slot_publish(sender, slot, position, head, size);
    return 0;
}

uint8_t *ring_place(struct ring_sender *sender, size_t size)
{
    uint64_t area_at;
    if (size <= RING_INLINE_MAX || size > FRAME_BODY_MAX ||
        sender_reserve(sender, size, false, &area_at))
        return NULL;
    return sender->area + (area_at & (sender->area_size - 1));
}

uint64_t ring_released(struct ring_sender *sender)
{
    (void)sender_refresh(sender); /* after invalid data, the last valid head counts */
    return sender->head;
}

int ring_collect(struct ring_sender *sender, struct acknowledgement *out, unsigned max)
{
    unsigned count = 0;
    while (count < max) {
        struct ring_answer *answer = &sender->answers[sender->answer_next & sender->answer_mask];
        uint64_t stamp = atomic_load_explicit(&answer->stamp, memory_order_acquire);
        if (stamp != sender->answer_next + 1)
            break;
        if (!sender->tokens) { /* more acknowledgements than frames with a token */
            sender->broken = true;
            return count ? (int)count : -EPROTO;
        }
        out[count++] = (struct acknowledgement){.token = answer->token, .status = answer->status};
        sender->answer_next++;
        sender->tokens--;
    }
    return (int)count;
}

/* ---- receiver ---- */

int ring_receiver_init(struct ring_receiver *receiver, void *segment,
                       const struct ring_shape *shape)
{
    assert(ring_shape_valid(shape));
    struct ring_parts parts = ring_parts_of(segment, shape);
    *receiver = (struct ring_receiver){
        .segment = segment,
        .answers = parts.answers,
        .slots = parts.slots,
        .area = parts.area,
        .slot_mask = shape->slots - 1,
        .area_size = shape->bytes,
        .answer_mask = ring_token_max(shape) - 1,
        .quiet_bytes = shape->bytes >= QUIET_BYTES_MIN ? shape->bytes / 4 : 0,
        .released = array_new(shape->slots, 1),
    };
    return receiver->released ? 0 : -ENOMEM;
}

void ring_receiver_fini(struct ring_receiver *receiver)
{
    free(receiver->released);
    *receiver = (struct ring_receiver){0};
}

/* Publishes how far we have released. Returns false if the sender cannot be waiting for this
 * credit, so that it need not be woken (otherwise an occasional message would wake both sides).
 *
 * A sender that waits was refused a frame, so a whole ring of its frames is unreleased (or a whole
 * area of bytes, less three bodies: the refused one, and twice what is skipped at the end of the
 * area). We have seen the last of these frames, or see it after the barrier that the sender made
 * before it slept. If less than a quarter of the ring is unreleased when we publish, then more than
 * a quarter will be when we reach the last frame, and then the sender is woken. */
static bool receiver_publish(struct ring_receiver *receiver)
{
    bool quiet = receiver->dry &&
                 receiver->next - receiver->published < (receiver->slot_mask + 1) / 4 &&
                 receiver->area_pulled - receiver->area_known < receiver->quiet_bytes;
    /* Release: our reads of those slots happen before the sender's writes. */
    atomic_store_explicit(&receiver->segment->head, receiver->head, memory_order_release);
    receiver->published = receiver->head;
    receiver->unpublished_bytes = 0;
    if (receiver->head == receiver->next)
        receiver->area_known = receiver->area_pulled;
    return !quiet;
}

/* Copies the slot's description of the frame, checks it, and points at the body. `first`: of the
 * frames that are pulled at once. */
static bool slot_read(const struct ring_receiver *receiver, const struct ring_slot *slot,
                      uint64_t stamp, bool first, struct frame *out)
{
    uint32_t size = (uint32_t)(stamp >> 32);
    out->head = slot->head;
    out->size = size;
    out->cookie = (uint32_t)receiver->next;
    if (size <= RING_INLINE_MAX) {
        out->body = slot->body;
        return true;
    }
    uint32_t offset = *(const volatile uint32_t *)&slot->offset; /* read only once */
    if (size > FRAME_BODY_MAX || offset > receiver->area_size - size)
        return false;
    out->body = receiver->area + offset;
    /* The caller reads the body next: its lines arrive while we return. Long bodies behind the
     * first come later, and would push each other out of the nearest cache (streams of long frames
     * are 4 % faster). */
    if (size <= PREFETCH_MAX || first)
        for (uint32_t at = 0; at < size && at < PREFETCH_MAX; at += LINE)
            __builtin_prefetch(out->body + at);
    return true;
}

/* A slot that is still held keeps its old stamp, because the sender cannot have passed it. */
static bool slot_is_filled(const struct ring_receiver *receiver, uint64_t stamp)
{
    return (uint32_t)stamp == (uint32_t)(receiver->next + 1) &&
           receiver->next - receiver->head <= receiver->slot_mask;
}

bool ring_waiting(const struct ring_receiver *receiver)
{
    const struct ring_slot *slot = &receiver->slots[receiver->next & receiver->slot_mask];
    /* Relaxed: this is only a hint; the pull that follows acquires. */
    return receiver->broken ||
           slot_is_filled(receiver, atomic_load_explicit(&slot->stamp, memory_order_relaxed));
}

int ring_pull(struct ring_receiver *receiver, struct frame *out, unsigned max, bool *credit)
{
    *credit = false;
    if (receiver->broken)
        return -EPROTO;
    unsigned count = 0;
    receiver->dry = false;
    while (count < max) {
        struct ring_slot *slot = &receiver->slots[receiver->next & receiver->slot_mask];
        /* While we poll an empty ring we keep both lines of the slot in our cache, so that both are
         * fetched at once when they change: else the second would be requested only after the first
         * has arrived (measured: 254 ns instead of 404 there and back). While frames stream in, the
         * prefetch would only take lines from the sender that it is about to write (43 M/s instead
         * of 65). */
        if (receiver->idle)
            __builtin_prefetch((const uint8_t *)slot + LINE);
        /* Acquire pairs with the sender's release of the same stamp. */
        uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
        if (!slot_is_filled(receiver, stamp)) {
            receiver->dry = true;
            break;
        }
        if (!slot_read(receiver, slot, stamp, !count, &out[count])) {
            receiver->broken = true;
            return count ? (int)count : -EPROTO;
        }
        receiver->tokens += out[count].head.token != 0;
        if (out[count].size > RING_INLINE_MAX)
            receiver->area_pulled += area_size_of(out[count].size);
        receiver->next++;
        count++;
    }
    receiver->idle = !count && max;
    if (receiver->dry && receiver->published != receiver->head) {
        *credit = receiver_publish(receiver);
    }
    return (int)count;
}

bool ring_release(struct ring_receiver *receiver, const struct frame *frame)
{
    uint32_t ahead = frame->cookie - (uint32_t)receiver->head;
    if (ahead >= receiver->next - receiver->head)
        return false;
    if (frame->size > RING_INLINE_MAX)
        receiver->unpublished_bytes += frame->size;
    if (ahead) {
        receiver->released[frame->cookie & receiver->slot_mask] = 1;
        return false;
    }
    receiver->head++;
    while (receiver->head != receiver->next &&
           receiver->released[receiver->head & receiver->slot_mask]) {
        receiver->released[receiver->head & receiver->slot_mask] = 0;
        receiver->head++;
    }
    uint64_t unpublished = receiver->head - receiver->published;
    if (!receiver->dry && unpublished <= receiver->slot_mask / 8 &&
        receiver->unpublished_bytes < receiver->area_size / 8)
        return false;
    return receiver_publish(receiver);
}

int ring_acknowledge(struct ring_receiver *receiver, uint64_t token, int64_t status)
{
    if (!receiver->tokens)
        return -EINVAL;
    receiver->tokens--;
    uint64_t position = receiver->answer_next++;
    struct ring_answer *answer = &receiver->answers[position & receiver->answer_mask];
    answer->token = token;
    answer->status = status;
    atomic_store_explicit(&answer->stamp, position + 1, memory_order_release);
    return 0;
}
