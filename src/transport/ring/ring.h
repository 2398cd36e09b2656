#pragma once
/* ring: frames from one sender to one receiver through shared memory, and
 * acknowledgements back. It allocates its private part at the start, never
 * blocks, and makes no system call.
 *
 * The segment is the caller's (one memory file of ring_size bytes, zeroed). It
 * holds, in this order: the receiver's head, the acknowledgements, the slots,
 * the area for bodies that a slot has no room for. Nothing in it is trusted:
 * what we need to know later is kept outside, what the peer says is copied
 * once, checked, then used. -EPROTO: the peer wrote nonsense; nothing works
 * from then on.
 *
 * Credit: a frame holds its slot, and its bytes of the area, until it and all
 * frames before it were released and the receiver has said so. A frame with a
 * token also holds a place in the way back until its acknowledgement was
 * collected; so each of them has to be acknowledged, once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/transport.h"

#define RING_INLINE_MAX 96 /* bytes of a body that travel inside the slot */

struct ring_shape {
    uint32_t slots; /* power of two: 8 to 65,536 */
    uint32_t bytes; /* of the area; power of two: 32 KiB to 64 MiB */
};

/* The nearest allowed shape that has at least what was asked for; 0 is the
 * default of 512 slots and 256 KiB. */
struct ring_shape ring_shape_make(uint32_t slots, uint32_t bytes);
bool ring_shape_valid(const struct ring_shape *shape);
size_t ring_size(const struct ring_shape *shape);

/* How many frames with a token can be without a collected acknowledgement. */
uint32_t ring_token_max(const struct ring_shape *shape);

struct ring_sender {
    struct ring_segment *segment; /* borrowed */
    struct ring_slot *slots;
    uint8_t *area;
    uint64_t tail; /* position of the next frame; positions never wrap */
    uint64_t head; /* the receiver's, as last seen */
    uint32_t slot_mask;
    uint32_t area_size;
    uint64_t area_tail; /* positions in the area, likewise */
    uint64_t area_head;
    uint64_t *area_ends; /* owned; by slot: area_tail after its frame */
    struct ring_answer *answers;
    uint64_t answer_next; /* position of the next acknowledgement to collect */
    uint32_t answer_mask;
    uint32_t tokens; /* frames that will be acknowledged */
    bool broken;
};

MUST_CHECK int ring_sender_init(struct ring_sender *sender, void *segment,
                                const struct ring_shape *shape);
void ring_sender_fini(struct ring_sender *sender);

/* Gathers the pieces into one frame. 0, -EAGAIN, -EMSGSIZE, -EPROTO. */
MUST_CHECK int ring_push(struct ring_sender *sender, const struct frame_head *head,
                         const struct iovec *pieces, unsigned piece_count);

/* Would a frame of that size, with a token, be taken now? */
bool ring_room(struct ring_sender *sender, size_t size);

/* Takes acknowledgements, at most `max`; returns how many, or -EPROTO. */
int ring_collect(struct ring_sender *sender, struct acknowledgement *out, unsigned max);

struct ring_receiver {
    struct ring_segment *segment; /* borrowed */
    struct ring_slot *slots;
    const uint8_t *area;
    uint64_t next;      /* position of the next frame to pull */
    uint64_t head;      /* all before this are released ... */
    uint64_t published; /* ... and before this the sender knows */
    uint32_t slot_mask;
    uint32_t area_size;
    uint32_t unpublished_bytes;
    uint32_t quiet_bytes; /* of the area in use, at most, for credit that nobody waits for */
    uint64_t area_pulled; /* bytes of the area of all frames pulled ... */
    uint64_t area_known;  /* ... and of those, at least, that the sender knows to be released */
    bool idle;            /* the last pull found nothing */
    bool dry;             /* the last pull took all there was */
    bool broken;
    uint8_t *released; /* owned; by slot: released before an earlier one was */
    struct ring_answer *answers;
    uint64_t answer_next;
    uint32_t answer_mask;
    uint64_t tokens; /* frames pulled that may be acknowledged */
};

MUST_CHECK int ring_receiver_init(struct ring_receiver *receiver, void *segment,
                                  const struct ring_shape *shape);
void ring_receiver_fini(struct ring_receiver *receiver);

/* Takes frames in order; returns how many, or -EPROTO. `credit` is set if the
 * sender was told of released frames that it may wait for: ring its bell. */
int ring_pull(struct ring_receiver *receiver, struct frame *out, unsigned max, bool *credit);

/* Would a pull find a frame, or nonsense? */
bool ring_waiting(const struct ring_receiver *receiver);

/* In any order; what is not held is ignored. True: ring the sender's bell, as above. */
bool ring_release(struct ring_receiver *receiver, const struct frame *frame);

/* Answers a frame that had a token. -EINVAL: all that were pulled have been
 * answered. Ring the bell afterwards. */
MUST_CHECK int ring_acknowledge(struct ring_receiver *receiver, uint64_t token, int64_t status);
