#pragma once
/* fuzz_pipes: our ends of two pipes over a link, one outlet and one inlet, which a script uses as a
 * context would. The target makes the peer's parcels and messages. */

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/transport.h"

enum pipes_step {
    PIPES_OUTLET,
    PIPES_PUSH,
    PIPES_COLLECT,
    PIPES_PULL,
    PIPES_RELEASE,
    PIPES_ACKNOWLEDGE,
    PIPES_CLOSE,
    PIPES_COUNT,
};

enum { PIPES_HELD = 16 };

struct pipes {
    struct transport_link *link;
    struct doorbell bell;
    struct outlet *outlet;
    struct inlet *inlet;
    struct parcel offer; /* our outlet's; the target closes its descriptors */
    struct frame held[PIPES_HELD];
    unsigned held_count;
    unsigned unanswered; /* pulled frames that were not acknowledged */
    uint64_t pushed, collected;
    uint32_t sum; /* keeps the compiler from removing the reads */
};

static inline void pipes_close(struct pipes *pipes)
{
    if (pipes->outlet)
        pipes->outlet->ops->outlet_close(pipes->outlet);
    if (pipes->inlet)
        pipes->inlet->ops->inlet_close(pipes->inlet);
    parcel_fini(&pipes->offer);
    pipes->outlet = NULL;
    pipes->inlet = NULL;
    pipes->offer = (struct parcel){0};
    pipes->held_count = pipes->unanswered = 0;
    pipes->pushed = pipes->collected = 0;
}

/* Pulls frames, to be released and acknowledged in any order. */
static inline void pipes_pull(struct pipes *pipes, unsigned max)
{
    unsigned room = PIPES_HELD - pipes->held_count;
    max = max < room ? max : room;
    int count = pipes->inlet->ops->pull(pipes->inlet, pipes->held + pipes->held_count, max);
    assert(count == -EPROTO || count == -EPIPE || (count >= 0 && (unsigned)count <= max));
    for (int i = 0; i < count; i++) {
        const struct frame *frame = &pipes->held[pipes->held_count++];
        assert(frame->size <= FRAME_BODY_MAX);
        for (uint32_t j = 0; j < frame->size; j++)
            pipes->sum += frame->body[j];
        pipes->unanswered++;
    }
}

static inline void pipes_push(struct pipes *pipes, struct reader *in)
{
    static uint8_t body[FRAME_BODY_MAX + 1];
    size_t size = read_u16(in) % (sizeof body + 1);
    struct frame_head head = {.kind = 1, .token = read_u8(in)};
    struct iovec pieces[2] = {{body, size / 2}, {body + size / 2, size - size / 2}};
    bool room = pipes->outlet->ops->room(pipes->outlet, size);
    int result = pipes->outlet->ops->push(pipes->outlet, &head, pieces, 2);
    assert(result == 0 || result == -EAGAIN || result == -EPROTO || result == -EPIPE ||
           (result == -EMSGSIZE && size > FRAME_BODY_MAX));
    assert(result != -EAGAIN || !room);
    pipes->pushed += result == 0;
}

static inline void pipes_collect(struct pipes *pipes, unsigned max)
{
    struct acknowledgement acks[16];
    max %= 17;
    int count = pipes->outlet->ops->collect(pipes->outlet, acks, max);
    assert(count == -EPROTO || count == -EPIPE || (count >= 0 && (unsigned)count <= max));
    pipes->collected += count > 0 ? (unsigned)count : 0;
}

static inline void pipes_step(struct pipes *pipes, struct reader *in)
{
    unsigned what = read_u8(in), number = what >> 3;
    switch ((enum pipes_step)(what % PIPES_COUNT)) {
    case PIPES_OUTLET:
        if (!pipes->outlet) {
            const struct pipe_ops *ops = pipes->link->ops->pipes;
            int result = ops->outlet_open(pipes->link, &pipes->bell, &pipes->offer, &pipes->outlet);
            assert(result == 0 || result == -EPIPE);
        }
        break;
    case PIPES_PUSH:
        if (pipes->outlet)
            pipes_push(pipes, in);
        break;
    case PIPES_COLLECT:
        if (pipes->outlet)
            pipes_collect(pipes, number);
        break;
    case PIPES_PULL:
        if (pipes->inlet)
            pipes_pull(pipes, number);
        break;
    case PIPES_RELEASE:
        if (number < pipes->held_count) {
            pipes->inlet->ops->release(pipes->inlet, &pipes->held[number]);
            pipes->held[number] = pipes->held[--pipes->held_count];
        }
        break;
    case PIPES_ACKNOWLEDGE:
        if (pipes->unanswered) {
            pipes->unanswered--;
            int result = pipes->inlet->ops->acknowledge(pipes->inlet, read_u8(in), 0);
            assert(result <= 0 && result > -4096);
        }
        break;
    case PIPES_CLOSE:
    case PIPES_COUNT:
        if (number == 31)
            pipes_close(pipes);
        break;
    }
}
