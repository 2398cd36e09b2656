#pragma once
/* stream: an ordered byte stream without loss or duplicates, over datagrams that may be lost,
 * duplicated and reordered. For lifelines over a fabric, whose traffic is rare and small.
 *
 * Bytes are cut into numbered segments. The receiver accepts only the next one and reports which
 * that is. The sender keeps the segments that were not accepted and sends all of them again, ever
 * more slowly, when nothing comes back. A side that receives nothing for a while asks; a side that
 * receives nothing for long considers the other lost.
 *
 * Pure: the caller passes the time, the datagrams that arrived and the bytes to send, and asks what
 * to send (stream_next) and when to call again (stream_due). */

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
    STREAM_CONNECTS = 1, /* the sender of this datagram opened the stream */
    STREAM_ASKS = 2,     /* asks for a report of what was received */
    STREAM_ENDS = 4,     /* the stream ends before `sequence` */
    STREAM_RESETS = 8,   /* the sender has no such stream */
};

struct stream_head {
    uint64_t line; /* random number of the stream, chosen by the connecting side */
    uint8_t flags;
    uint32_t sequence; /* number of the segment that follows, or of the next one */
    uint32_t received; /* all segments below were accepted */
};

struct stream_segment {
    uint16_t size;
    uint8_t bytes[STREAM_SEGMENT_MAX];
};

struct stream {
    uint64_t line;
    bool connects;
    bool ending;        /* no more bytes will be put */
    bool ended;         /* the end was sent */
    bool over;          /* the other end has ended or reset the stream */
    bool owes;          /* a report of what was received is due */
    bool asking;        /* a question is due */
    struct resend ours; /* segments; next <= base + STREAM_SEGMENTS */
    uint32_t expected;
    nsec heard_at;
    nsec ask_at;
    struct stream_segment segments[STREAM_SEGMENTS]; /* by number % STREAM_SEGMENTS */
};

void stream_init(struct stream *stream, uint64_t line, bool connects, nsec now);

/* Is there room for another segment? */
static inline bool stream_has_room(const struct stream *stream)
{
    return stream->ours.next - stream->ours.base < STREAM_SEGMENTS && !stream->ending;
}

/* Puts 1 to STREAM_SEGMENT_MAX bytes, which are copied. */
void stream_put(struct stream *stream, const void *bytes, size_t size);
/* No more bytes will be put; those already put are still sent. */
void stream_end(struct stream *stream);

/* Handles a datagram with `size` bytes after its head. True: these are the next bytes; call
 * stream_took if you accept them, else they are sent again. */
bool stream_heard(struct stream *stream, const struct stream_head *head, size_t size, nsec now);
void stream_took(struct stream *stream);

/* Returns what has to be sent now; call it until it returns false. The bytes are valid until the
 * next call. */
bool stream_next(struct stream *stream, nsec now, struct stream_head *head, const uint8_t **bytes,
                 size_t *size);
/* When to call stream_next again if nothing arrives. */
nsec stream_due(const struct stream *stream);

/* All bytes were accepted and the end was sent; or the other end has ended or reset the stream. */
static inline bool stream_is_done(const struct stream *stream)
{
    return stream->over || stream->ended;
}
/* Has nothing arrived for too long? */
bool stream_is_lost(const struct stream *stream, nsec now);

void stream_head_write(const struct stream_head *head, uint8_t out[STREAM_HEAD_SIZE]);
MUST_CHECK int stream_head_read(struct stream_head *head, const uint8_t *in,
                                size_t size); /* -EPROTO */
