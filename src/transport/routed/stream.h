#pragma once
/* stream: bytes in order, once and none lost, over datagrams of which that is not true. For
 * lifelines over a fabric: what goes through it is rare and small.
 *
 * Bytes are cut into numbered segments. The receiver takes the next one only and says which that
 * is; the sender keeps what was not taken and sends all of it again, ever more slowly, when nothing
 * comes back. Who hears nothing for a while asks; who hears nothing at all for long has lost the
 * other.
 *
 * Pure: it is told the time, what came and what is to go, and is asked what to send
 * (stream_next) and when to come back (stream_due). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/datagram/resend.h"

#define STREAM_HEAD_SIZE    20
#define STREAM_SEGMENT_MAX  4096
#define STREAM_SEGMENTS     16
#define STREAM_DATAGRAM_MAX (STREAM_HEAD_SIZE + STREAM_SEGMENT_MAX)

enum stream_flag {
    STREAM_CONNECTS = 1, /* its sender began the stream */
    STREAM_ASKS = 2,     /* say where you are */
    STREAM_ENDS = 4,     /* nothing comes after `sequence` */
    STREAM_RESETS = 8,   /* there is no such stream here */
};

struct stream_head {
    uint64_t line; /* random, of one stream: chosen by who connects */
    uint8_t flags;
    uint32_t sequence; /* of the segment that follows, or of the next */
    uint32_t received; /* all below have been taken */
};

struct stream_segment {
    uint16_t size;
    uint8_t bytes[STREAM_SEGMENT_MAX];
};

struct stream {
    uint64_t line;
    bool connects;
    bool ending;        /* no more will be put */
    bool ended;         /* and that was said */
    bool over;          /* the other end said so, or reset it */
    bool owes;          /* a word about what was received */
    bool asking;        /* a question is due to be sent */
    struct resend ours; /* segments; next <= base + STREAM_SEGMENTS */
    uint32_t expected;
    nsec heard_at;
    nsec ask_at;
    struct stream_segment segments[STREAM_SEGMENTS]; /* by number % STREAM_SEGMENTS */
};

void stream_init(struct stream *stream, uint64_t line, bool connects, nsec now);

/* Room for another segment? */
static inline bool stream_has_room(const struct stream *stream)
{
    return stream->ours.next - stream->ours.base < STREAM_SEGMENTS && !stream->ending;
}

/* At most STREAM_SEGMENT_MAX bytes, not none; copied. */
void stream_put(struct stream *stream, const void *bytes, size_t size);
/* Nothing more will be put; what was is still sent. */
void stream_end(struct stream *stream);

/* A datagram of `size` bytes behind its head came. True: these are the next bytes; call
 * stream_took if they were taken, else they come again. */
bool stream_heard(struct stream *stream, const struct stream_head *head, size_t size, nsec now);
void stream_took(struct stream *stream);

/* What is to be sent now: call until it says false. The bytes are valid until the next call. */
bool stream_next(struct stream *stream, nsec now, struct stream_head *head, const uint8_t **bytes,
                 size_t *size);
/* When there is something to send without anything coming in. */
nsec stream_due(const struct stream *stream);

/* All was taken, and its end said; or the other end is over. */
static inline bool stream_is_done(const struct stream *stream)
{
    return stream->over || stream->ended;
}
/* Nothing was heard for too long. */
bool stream_is_lost(const struct stream *stream, nsec now);

void stream_head_write(const struct stream_head *head, uint8_t out[STREAM_HEAD_SIZE]);
MUST_CHECK int stream_head_read(struct stream_head *head, const uint8_t *in,
                                size_t size); /* -EPROTO */
