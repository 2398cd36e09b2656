#include "transport/routed/stream.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define MSEC          (1000 * 1000LL)
#define AGAIN_NSEC    (20 * MSEC)   /* first delay before sending again */
#define AGAIN_MAX     (500 * MSEC)  /* longest delay, after doubling */
#define ASK_NSEC      (1000 * MSEC) /* after this silence we ask */
#define PATIENCE_NSEC (8000 * MSEC) /* after this silence we give up */

void stream_init(struct stream *stream, uint64_t line, bool connects, nsec now)
{
    /* Skips the segments: they are large, and written before they are read. */
    memset(stream, 0, offsetof(struct stream, segments));
    stream->line = line;
    stream->connects = connects;
    stream->heard_at = now;
    resend_init(&stream->ours, AGAIN_NSEC, AGAIN_MAX);
    stream->ask_at = now + ASK_NSEC;
}

void stream_put(struct stream *stream, const void *bytes, size_t size)
{
    assert(stream_has_room(stream) && size > 0 && size <= STREAM_SEGMENT_MAX);
    struct stream_segment *segment = &stream->segments[stream->ours.next++ % STREAM_SEGMENTS];
    segment->size = (uint16_t)size;
    memcpy(segment->bytes, bytes, size);
}

void stream_end(struct stream *stream)
{
    stream->ending = true;
}

/* ---- receiving ---- */

/* `received` has 32 bits: it means the next number with these low bits. An old value then lies far
 * beyond what was put, and is ignored. */
static void received_heard(struct stream *stream, uint32_t received, nsec now)
{
    uint32_t taken = received - (uint32_t)stream->ours.base;
    (void)resend_confirm(&stream->ours, stream->ours.base + taken, now);
}

bool stream_heard(struct stream *stream, const struct stream_head *head, size_t size, nsec now)
{
    assert(head->line == stream->line);
    if (!(head->flags & STREAM_CONNECTS) != stream->connects)
        return false; /* our own datagram, sent back */
    stream->heard_at = now;
    stream->ask_at = now + ASK_NSEC;
    if (head->flags & STREAM_RESETS) {
        stream->over = true;
        return false;
    }
    received_heard(stream, head->received, now);
    if (head->flags & STREAM_ASKS)
        stream->owes = true;
    if (size) {
        stream->owes = true; /* even for an old segment: our report was lost */
        return head->sequence == stream->expected && !stream->over;
    }
    if ((head->flags & STREAM_ENDS) && head->sequence == stream->expected)
        stream->over = true;
    return false;
}

void stream_took(struct stream *stream)
{
    stream->expected++;
    stream->owes = true;
}

/* ---- sending ---- */

static void timers_check(struct stream *stream, nsec now)
{
    if (resend_is_due(&stream->ours, now))
        stream->ours.sent = stream->ours.base;
    if (now >= stream->ask_at) {
        stream->asking = true;
        stream->ask_at = now + ASK_NSEC;
    }
}

bool stream_next(struct stream *stream, nsec now, struct stream_head *head, const uint8_t **bytes,
                 size_t *size)
{
    if (stream_is_done(stream))
        return false;
    timers_check(stream, now);
    bool ends = stream->ending && stream->ours.base == stream->ours.next;
    if (stream->ours.sent == stream->ours.next && !stream->owes && !stream->asking && !ends)
        return false;
    *head = (struct stream_head){.line = stream->line,
                                 .flags = (uint8_t)((stream->connects ? STREAM_CONNECTS : 0) |
                                                    (stream->asking ? STREAM_ASKS : 0) |
                                                    (ends ? STREAM_ENDS : 0)),
                                 .sequence = (uint32_t)stream->ours.sent,
                                 .received = stream->expected};
    *bytes = NULL;
    *size = 0;
    if (stream->ours.sent != stream->ours.next) {
        const struct stream_segment *segment =
            &stream->segments[stream->ours.sent++ % STREAM_SEGMENTS];
        *bytes = segment->bytes;
        *size = segment->size;
        resend_started(&stream->ours, now);
    }
    stream->owes = stream->asking = false;
    stream->ended = ends;
    return true;
}

nsec stream_due(const struct stream *stream)
{
    if (stream_is_done(stream))
        return NSEC_NEVER;
    if (stream->ours.sent != stream->ours.next || stream->owes || stream->asking ||
        (stream->ending && stream->ours.base == stream->ours.next))
        return 0;
    return stream->ours.at < stream->ask_at ? stream->ours.at : stream->ask_at;
}

bool stream_is_lost(const struct stream *stream, nsec now)
{
    return now - stream->heard_at > PATIENCE_NSEC;
}

/* ---- the head ---- */

void stream_head_write(const struct stream_head *head, uint8_t out[STREAM_HEAD_SIZE])
{
    struct writer to = writer_make(out, STREAM_HEAD_SIZE);
    write_u64(&to, head->line);
    write_u8(&to, head->flags);
    write_u8(&to, 0);
    write_u16(&to, 0);
    write_u32(&to, head->sequence);
    write_u32(&to, head->received);
    assert(!to.failed && !to.left);
}

int stream_head_read(struct stream_head *head, const uint8_t *in, size_t size)
{
    struct reader from = reader_make(in, size);
    *head = (struct stream_head){.line = read_u64(&from), .flags = read_u8(&from)};
    unsigned reserved = read_u8(&from);
    reserved |= read_u16(&from);
    head->sequence = read_u32(&from);
    head->received = read_u32(&from);
    if (from.failed || reserved || !head->line || from.left > STREAM_SEGMENT_MAX ||
        (head->flags & ~(STREAM_CONNECTS | STREAM_ASKS | STREAM_ENDS | STREAM_RESETS)))
        return -EPROTO;
    return 0;
}
