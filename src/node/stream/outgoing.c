/* outgoing: the sending end of a stream.
 *
 * Messages wait in the memory of the service, linked by their calls. They are cut into segments
 * when a port has room; a segment never holds bytes of two calls. A call is done when the receiving
 * service has acknowledged the place after it. */
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "node/stream/streams_impl.h"

/* ---- opening ---- */

void outgoing_open(struct streams *streams, struct weft_stream *stream)
{
    struct streams_host *host = streams->host;
    struct stream_outgoing *out = &stream->out;
    uint64_t skipped = 0; /* acknowledged bytes of the first call */
    /* A service may open thousands of streams at once. */
    if (host->is_crowded(host)) {
        out->open_at = host->now + OPEN_NSEC_CROWDED;
        ends_due(streams, stream, out->open_at);
        return;
    }
    if (out->first) {
        const struct stream_call *call = stream_call_of(out->first);
        skipped = out->place - (call->end - call->size - !call->more);
    }
    struct segment segment = {
        .kind = SEGMENT_OPEN,
        .from = {streams->run, stream->id},
        .open = {stream->subject, stream->identity, out->messages, out->part + skipped, out->place},
    };
    out->open_at = host->now + out->open_wait;
    out->open_wait = 2 * out->open_wait < OPEN_NSEC_MAX ? 2 * out->open_wait : OPEN_NSEC_MAX;
    ends_due(streams, stream, out->open_at);
    struct packet *packet = ends_packet(streams, &segment);
    if (!packet)
        return; /* OPEN is repeated anyway */
    if (stream->to_key)
        host->send_key(host, packet, &stream->key);
    else
        host->send(host, packet, stream->peer);
}

void outgoing_accepted(struct streams *streams, struct weft_stream *stream, node_id source,
                       const struct segment *segment)
{
    if (stream->state != STREAM_OPENING || (!stream->to_key && stream->peer != source)) {
        if (!end_is(&stream->other, &segment->from)) /* the peer accepted an old OPEN */
            ends_answer(streams, source, segment, WEFT_STREAM_LOST);
        return;
    }
    stream->state = STREAM_OPEN;
    stream->peer = source;
    stream->other = segment->from;
    stream->heard_at = streams->host->now;
    transit_init(&stream->out.transit, streams->transits + (size_t)stream->number * streams->window,
                 streams->window, segment->limit);
    outgoing_follow(streams, stream);
}

/* ---- moving ---- */

/* Begins again at the place that the receiving service has acknowledged. */
static void outgoing_rewind(struct stream_outgoing *out, bool bug)
{
    out->behind = false; /* the segments of the old transit are gone */
    if (bug)
        return;
    out->cut = out->first;
    out->cut_offset = 0;
    out->cut_place = out->place;
    out->check = 0;
    out->finish_sent = false;
    if (out->cut) {
        const struct stream_call *call = stream_call_of(out->cut);
        out->cut_offset = out->place - (call->end - call->size - !call->more);
    }
}

void outgoing_lost(struct streams *streams, struct weft_stream *stream,
                   enum weft_stream_reason reason)
{
    struct stream_outgoing *out = &stream->out;
    if (!out->moves) {
        ends_end(streams, stream, reason, reason == WEFT_STREAM_MOVED);
        return;
    }
    struct segment end = {.kind = SEGMENT_END, .flags = WEFT_STREAM_MOVED};
    if (stream->other.stream && reason == WEFT_STREAM_MOVED)
        ends_tell(streams, stream, &end); /* the old root may still run */
    turns_leave(&streams->turns, stream->number);
    stream->state = STREAM_OPENING;
    stream->id = ++streams->generation << STREAM_BITS | stream->number;
    stream->other = (struct segment_end){0};
    stream->peer = NODE_NONE;
    stream->heard_at = streams->host->now;
    outgoing_rewind(out, HAS_BUG(streams->host, STREAM_MOVE));
    out->told_moved = false;
    out->open_wait = OPEN_NSEC;
    streams->counts.moved++;
    outgoing_open(streams, stream);
    ends_due(streams, stream, streams->host->now); /* moved() */
}

/* ---- sending ---- */

static bool has_finish(const struct stream_outgoing *out)
{
    return out->finish && !out->first && !out->finish_sent;
}

static bool has_new(const struct stream_outgoing *out)
{
    return (out->cut || has_finish(out)) && transit_has_room(&out->transit);
}

/* The next segment that is to be sent again; NULL: none now. */
static struct transit_segment *again(const struct streams *streams,
                                     const struct stream_outgoing *out, uint64_t *sequence)
{
    struct transit_segment *segment = transit_again(&out->transit, sequence);
    return segment && HAS_BUG(streams->host, STREAM_GAP) && segment->sent_at ? NULL : segment;
}

void outgoing_follow(struct streams *streams, struct weft_stream *stream)
{
    uint64_t sequence;
    const struct stream_outgoing *out = &stream->out;
    ends_ready(streams, stream,
               stream->state == STREAM_OPEN && (has_new(out) || again(streams, out, &sequence)));
}

static uint32_t cut_size(const struct stream_outgoing *out)
{
    if (!out->cut)
        return 0;
    uint64_t left = stream_call_of(out->cut)->size - out->cut_offset;
    return left < SEGMENT_BYTES_MAX ? (uint32_t)left : SEGMENT_BYTES_MAX;
}

static const uint8_t *bytes_of(struct weft_call *call, uint64_t offset)
{
    return call ? stream_call_of(call)->bytes + offset : NULL;
}

/* Adds the segment that was cut last to the check of its message. Usually the port that sent it has
 * digested it. Otherwise it has not arrived, unless the peer lies, and its bytes are still there.
 */
static void check_follow(struct stream_outgoing *out)
{
    const struct transit *transit = &out->transit;
    uint64_t last = transit->next - 1;
    struct transit_segment *segment = &transit->segments[last & (transit->window - 1)];
    if (!out->behind)
        return;
    if (!segment->digest && last >= transit->base)
        segment->digest = digest_bytes(bytes_of(segment->call, segment->offset), segment->size);
    out->check = segment_check_add(out->check, segment->digest);
    out->behind = false;
}

/* Cuts the next segment. */
static struct transit_segment *cut(struct stream_outgoing *out, uint64_t *sequence)
{
    uint32_t size = cut_size(out);
    check_follow(out);
    struct transit_segment *segment = transit_add(&out->transit, sequence);
    if (!out->cut) {
        segment->flags = SEGMENT_FINISH;
        out->finish_sent = true;
        return segment;
    }
    struct stream_call *call = stream_call_of(out->cut);
    segment->call = out->cut;
    segment->offset = out->cut_offset;
    segment->size = size;
    out->cut_offset += size;
    out->cut_place += size;
    out->behind = true;
    if (out->cut_offset < call->size)
        return segment;
    if (!call->more) {
        segment->flags = SEGMENT_LAST;
        segment->check = out->check;
        out->check = 0;
        out->behind = false;
        out->cut_place++;
    }
    out->cut = call->next;
    out->cut_offset = 0;
    return segment;
}

struct packet *outgoing_poll(struct streams *streams, struct weft_stream *stream, uint32_t room,
                             bool gather)
{
    struct stream_outgoing *out = &stream->out;
    uint64_t sequence;
    struct transit_segment *segment = again(streams, out, &sequence);
    uint32_t size = segment ? segment->size : cut_size(out);
    if (PACKET_HEADER_SIZE + SEGMENT_DATA_HEAD + size > room)
        return NULL;
    struct weft_call *call = segment ? segment->call : out->cut;
    uint64_t offset = segment ? segment->offset : out->cut_offset;
    if (!segment)
        segment = cut(out, &sequence);
    struct segment data = {
        .kind = SEGMENT_DATA,
        .flags = segment->flags,
        .to = stream->other,
        .from = {streams->run, stream->id},
        .sequence = sequence,
        .check = segment->check,
        .size = segment->size,
    };
    struct packet *packet =
        ends_packet_data(streams, &data, bytes_of(call, offset), &segment->digest, gather);
    if (!packet)
        return NULL; /* the segment waits as one that is to be sent again */
    streams->counts.segments++;
    streams->counts.resent += segment->sent_at != 0;
    transit_sent(&out->transit, sequence, streams->host->now);
    ends_due(streams, stream, out->transit.timer);
    return packet;
}

/* ---- answers ---- */

static void call_done(struct streams *streams, struct stream_outgoing *out, int64_t result)
{
    struct weft_call *call = out->first;
    out->first = stream_call_of(call)->next;
    if (!out->first)
        out->end = &out->first;
    stream_call_of(call)->token = 0;
    call->result = result;
    call->done(streams->host->self, call);
}

void outgoing_done(struct streams *streams, struct weft_stream *stream, int64_t result)
{
    stream->out.cut = NULL;
    while (stream->out.first)
        call_done(streams, &stream->out, result);
}

/* The place before which all has been received. */
static uint64_t place_received(const struct stream_outgoing *out)
{
    const struct transit *transit = &out->transit;
    if (transit->base == transit->next)
        return out->cut_place;
    const struct transit_segment *segment =
        &transit->segments[transit->base & (transit->window - 1)];
    if (!segment->call)
        return out->cut_place;
    const struct stream_call *call = stream_call_of(segment->call);
    return call->end - call->size - !call->more + segment->offset;
}

/* The receiving service has acknowledged all before that place. */
static void place_reached(struct streams *streams, struct weft_stream *stream, uint64_t place)
{
    struct stream_outgoing *out = &stream->out;
    if (place <= out->place || place > place_received(out))
        return; /* nothing new, or impossible: segments that may be sent again stay in memory */
    out->place = place;
    out->probe_wait = PROBE_SOON_NSEC;
    while (out->first && stream_call_of(out->first)->end <= place && out->first != out->cut) {
        const struct stream_call *call = stream_call_of(out->first);
        out->part = call->more ? out->part + call->size : 0;
        out->messages += !call->more;
        call_done(streams, out, 0);
    }
}

void outgoing_answered(struct streams *streams, struct weft_stream *stream,
                       const struct segment_ack *ack)
{
    struct stream_outgoing *out = &stream->out;
    if (!transit_answered(&out->transit, ack, streams->host->now))
        return;
    place_reached(streams, stream,
                  HAS_BUG(streams->host, STREAM_EARLY) ? place_received(out) : ack->place);
    if (stream->state != STREAM_OPEN)
        return; /* done() cancelled it */
    ends_due(streams, stream, out->transit.timer);
    outgoing_follow(streams, stream);
}

env_nsec outgoing_run(struct streams *streams, struct weft_stream *stream)
{
    struct stream_outgoing *out = &stream->out;
    env_nsec now = streams->host->now;
    if (!out->told_moved) {
        out->told_moved = true;
        if (streams->settings->moved)
            streams->settings->moved(streams->host->self, stream, out->messages);
    }
    if (stream->state == STREAM_OPENING) {
        if (now >= out->open_at)
            outgoing_open(streams, stream);
        return out->open_at;
    }
    if (stream->state != STREAM_OPEN)
        return now;
    transit_expire(&out->transit, now);
    outgoing_follow(streams, stream);
    if (!out->first || out->transit.base < out->transit.next)
        return out->transit.timer;
    /* The receiver has all that was sent. It has no memory for more, or its service has not
     * acknowledged it yet; the packet that says so may be lost. */
    if (now >= stream->probed_at + out->probe_wait) {
        struct segment probe = {.kind = SEGMENT_PROBE};
        ends_tell(streams, stream, &probe);
        stream->probed_at = now;
        out->probe_wait = 2 * out->probe_wait < PROBE_NSEC ? 2 * out->probe_wait : PROBE_NSEC;
    }
    return stream->probed_at + out->probe_wait;
}
