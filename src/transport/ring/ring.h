#pragma once
/* ring: carries frames from one sender to one receiver through shared memory, and acknowledgements
 * back. It allocates its private part at the start, never blocks, and makes no system call.
 *
 * The caller owns the segment (one memory file of ring_size bytes, zeroed). It contains, in this
 * order: the receiver's head, the acknowledgements, the slots, and the area for bodies that do not
 * fit into a slot. Nothing in it is trusted: what we need to know later is kept outside it, and
 * what the peer writes is copied once, checked, then used. -EPROTO: the peer wrote invalid data;
 * from then on all calls fail.
 *
 * Credit: a frame occupies its slot, and its bytes of the area, until it and all frames before it
 * were released and the receiver has published that. A frame with a token also occupies a place for
 * its acknowledgement until the sender has collected it; so each frame with a token has to be
 * acknowledged once. */

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

/* The nearest valid shape that has at least the requested size; 0 selects the default of 512 slots
 * and 256 KiB. */
struct ring_shape ring_shape_make(uint32_t slots, uint32_t bytes);
bool ring_shape_valid(const struct ring_shape *shape);
size_t ring_size(const struct ring_shape *shape);

/* How many frames with a token may be pushed before their acknowledgements are collected. */
uint32_t ring_token_max(const struct ring_shape *shape);

struct ring_sender {
    struct ring_segment *segment; /* borrowed */
    struct ring_slot *slots;
    uint8_t *area;
    uint64_t tail; /* position of the next frame; positions never wrap */
    uint64_t head; /* the receiver's head, as last read */
    uint32_t slot_mask;
    uint32_t area_size;
    uint64_t area_tail; /* positions in the area; they never wrap either */
    uint64_t area_head;
    uint64_t *area_ends; /* owned; for each slot: area_tail after its frame */
    struct ring_answer *answers;
    uint64_t answer_next; /* position of the next acknowledgement to collect */
    uint32_t answer_mask;
    uint32_t tokens; /* frames whose acknowledgement was not collected yet */
    bool broken;
};

MUST_CHECK int ring_sender_init(struct ring_sender *sender, void *segment,
                                const struct ring_shape *shape);
void ring_sender_fini(struct ring_sender *sender);

/* Gathers the pieces into one frame. Returns 0, -EAGAIN, -EMSGSIZE or -EPROTO. */
MUST_CHECK int ring_push(struct ring_sender *sender, const struct frame_head *head,
                         const struct iovec *pieces, unsigned piece_count);

/* Where the body of the next frame is to be written, by a caller that then pushes it as one piece
 * that lies there. NULL: push it from elsewhere; there is no room, or the body travels in the
 * slot. */
uint8_t *ring_place(struct ring_sender *sender, size_t size);

/* Returns how many frames of up to that size, with tokens, are certainly accepted from now on, or
 * 0.
 */
unsigned ring_room(struct ring_sender *sender, size_t size);

/* Returns how many of the pushed frames the receiver has released and published. */
uint64_t ring_released(struct ring_sender *sender);

/* Takes acknowledgements, at most `max`; returns how many, or -EPROTO. */
int ring_collect(struct ring_sender *sender, struct acknowledgement *out, unsigned max);

struct ring_receiver {
    struct ring_segment *segment; /* borrowed */
    struct ring_slot *slots;
    const uint8_t *area;
    uint64_t next;      /* position of the next frame to pull */
    uint64_t head;      /* all frames before this are released ... */
    uint64_t published; /* ... and the sender knows of those before this */
    uint32_t slot_mask;
    uint32_t area_size;
    uint32_t unpublished_bytes;
    uint32_t quiet_bytes; /* with less of the area in use, no sender waits for credit */
    uint64_t area_pulled; /* bytes of the area that all pulled frames used ... */
    uint64_t area_known;  /* ... of which the sender knows at least these to be released */
    bool idle;            /* the last pull found nothing */
    bool dry;             /* the last pull took all frames that there were */
    bool broken;
    uint8_t *released; /* owned; for each slot: released out of order */
    struct ring_answer *answers;
    uint64_t answer_next;
    uint32_t answer_mask;
    uint64_t tokens; /* pulled frames that may still be acknowledged */
};

MUST_CHECK int ring_receiver_init(struct ring_receiver *receiver, void *segment,
                                  const struct ring_shape *shape);
void ring_receiver_fini(struct ring_receiver *receiver);

/* Takes frames in order; returns how many, or -EPROTO. Sets `credit` if it published released
 * frames that the sender may be waiting for: then ring the sender's bell. */
int ring_pull(struct ring_receiver *receiver, struct frame *out, unsigned max, bool *credit);

/* Would a pull find a frame, or invalid data? */
bool ring_waiting(const struct ring_receiver *receiver);

/* Releases frames in any order; ignores a frame that is not held. True: ring the sender's bell, as
 * above. */
bool ring_release(struct ring_receiver *receiver, const struct frame *frame);

/* Acknowledges a frame that had a token. -EINVAL: all pulled frames with tokens were acknowledged
 * already. Ring the bell afterwards. */
MUST_CHECK int ring_acknowledge(struct ring_receiver *receiver, uint64_t token, int64_t status);
