/* incoming: the receiving end of a stream.
 *
 * The next segment in order goes to the service from the packet itself; others are kept until their
 * turn. Every segment is answered with an ACK, made when a port has room: many segments that arrive
 * together get one. */
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/hash.h"
#include "node/stream/streams_impl.h"

/* ---- opening ---- */

static void accept_send(struct streams *streams, const struct weft_stream *stream)
{
    struct segment accept = {.kind = SEGMENT_ACCEPT, .limit = streams->window};
    ends_tell(streams, stream, &accept);
}

/* The bucket of the streams with that other end: the number of the first of them is there. */
static uint32_t *bucket_of(struct streams *streams, node_id source, const struct segment_end *from)
{
    uint64_t hash = hash_mix(from->run ^ hash_mix(from->stream ^ (uint64_t)source << 32));
    return &streams->buckets[hash & streams->bucket_mask];
}

/* The stream that the same OPEN began before; NULL: none. */
static struct weft_stream *find_same(struct streams *streams, node_id source,
                                     const struct segment_end *from)
{
    struct weft_stream *stream;
    for (uint32_t i = *bucket_of(streams, source, from); i != STREAM_NOTHING;
         i = stream->next_same) {
        stream = &streams->streams[i];
        if (stream->state == STREAM_OPEN && stream->peer == source && end_is(&stream->other, from))
            return stream;
    }
    return NULL;
}

static void remember(struct streams *streams, struct weft_stream *stream)
{
    uint32_t *bucket = bucket_of(streams, stream->peer, &stream->other);
    stream->next_same = *bucket;
    *bucket = stream->number;
}

void incoming_forget(struct streams *streams, struct weft_stream *stream)
{
    uint32_t *at = bucket_of(streams, stream->peer, &stream->other);
    while (*at != stream->number)
        at = &streams->streams[*at].next_same;
    *at = stream->next_same;
}

void incoming_open(struct streams *streams, const struct packet *packet,
                   const struct segment *segment)
{
    if (packet->source >= streams->host->server_count || !segment->from.stream)
        return;
    struct weft_stream *stream = find_same(streams, packet->source, &segment->from);
    if (stream) {
        accept_send(streams, stream); /* the first ACCEPT was lost */
        return;
    }
    if (!streams->settings->incoming || !streams->settings->arrived) {
        ends_answer(streams, packet->source, segment, WEFT_STREAM_REFUSED);
        return;
    }
    stream = ends_begin(streams, true);
    if (!stream) {
        ends_answer(streams, packet->source, segment, WEFT_STREAM_FULL);
        return;
    }
    stream->peer = packet->source;
    stream->other = segment->from;
    remember(streams, stream);
    stream->subject = segment->open.subject;
    stream->identity = segment->open.identity;
    stream->to_key = packet->kind == PACKET_TO_KEY;
    if (stream->to_key) {
        packet_get_key(packet, &stream->key);
        stream->route = key_route(&stream->key);
    }
    stream->in.message = segment->open.message;
    stream->in.offset = segment->open.offset;
    stream->in.place = stream->in.offered = stream->in.acknowledged = segment->open.place;
    uint32_t index = stream->number - streams->settings->outgoing;
    size_t first = (size_t)index * streams->window;
    assembly_init(&stream->in.assembly, streams->assemblies + first,
                  streams->memory + first * SEGMENT_BYTES_MAX, streams->window);
    streams->counts.accepted++;
    accept_send(streams, stream);
}

void incoming_tell(struct streams *streams, struct weft_stream *stream)
{
    if (stream->in.told)
        return;
    stream->in.told = true;
    if (streams->settings->opened)
        streams->settings->opened(streams->host->self, stream);
}

/* ---- bytes for the service ---- */

void incoming_answer(struct streams *streams, struct weft_stream *stream)
{
    if (stream->in.answer)
        return; /* it already waits for a port, or for a path (streams_routes) */
    stream->in.answer = true;
    ends_ready(streams, stream, true);
}

static void *target_of(struct streams *streams, struct weft_stream *stream, uint32_t size)
{
    const struct stream_incoming *in = &stream->in;
    if (!streams->settings->target || !size)
        return NULL;
    return streams->settings->target(streams->host->self, stream, in->message, in->offset, size);
}

/* The place is that of the first bytes that the service does not have yet. It follows from what was
 * received, and not from the packet, of which nothing is known to be right: so a damaged packet
 * spoils no bytes that were received, whatever it claims to be. A packet of a damaged size is
 * refused before (packet_read). */
void incoming_digest(struct streams *streams, struct weft_stream *stream, struct segment *segment)
{
    const struct stream_incoming *in = &stream->in;
    void *target = NULL;
    if (in->told && !in->stalled && segment->sequence == in->assembly.base)
        target = target_of(streams, stream, segment->size);
    if (!target) {
        segment->digest = digest_bytes(segment->bytes, segment->size);
        return;
    }
    segment->digest = digest_copy(target, segment->bytes, segment->size);
    segment->copy = target;
}

/* Offers the rest of a segment to the service; true: the service has all of it. `copy`: the bytes
 * are already where the service wants them; NULL: they are not. */
static bool piece_offer(struct streams *streams, struct weft_stream *stream, const uint8_t *bytes,
                        const uint8_t *copy, uint32_t size, uint8_t flags, uint32_t *taken)
{
    struct stream_incoming *in = &stream->in;
    bool last = flags & SEGMENT_LAST;
    uint32_t left = size - *taken;
    if (!left && !last)
        return true;
    if (!copy) {
        void *target = target_of(streams, stream, left);
        copy = target ? memcpy(target, bytes + *taken, left) : bytes + *taken;
    }
    if (stream->state != STREAM_OPEN)
        return false; /* target() cancelled it */
    struct weft_stream_piece piece = {
        .bytes = copy,
        .size = left,
        .last = last,
        .message = in->message,
        .offset = in->offset,
        .place = in->place + left + last,
    };
    in->offered = piece.place; /* the service may acknowledge it from inside arrived() */
    uint32_t took = streams->settings->arrived(streams->host->self, stream, &piece);
    if (took > left) {
        streams->host->mistake(streams->host, "arrived",
                               "the service takes more bytes than the piece has");
        took = left;
    }
    in->offset += took;
    in->place += took;
    *taken += took;
    if (took < left)
        return false;
    if (last) {
        in->place++;
        in->message++;
        in->offset = 0;
        if (!streams->settings->acknowledges)
            in->acknowledged = in->place;
    }
    return true;
}

/* The check of the message must be known to be right before its last piece is offered. */
static bool is_damaged(const struct weft_stream *stream, uint8_t flags, uint64_t digest,
                       uint64_t check)
{
    return flags & SEGMENT_LAST && segment_check_add(stream->in.check, digest) != check;
}

/* One segment for the service; `copy` as in piece_offer. False: no more now. */
static bool segment_offer(struct streams *streams, struct weft_stream *stream, const uint8_t *bytes,
                          const uint8_t *copy, struct assembly_segment *segment)
{
    if (is_damaged(stream, segment->flags, segment->digest, segment->check)) {
        streams->counts.damaged++;
        ends_end(streams, stream, WEFT_STREAM_DAMAGED, true);
        return false;
    }
    if (!piece_offer(streams, stream, bytes, copy, segment->size, segment->flags,
                     &segment->taken)) {
        stream->in.stalled = true;
        return false;
    }
    stream->in.check = segment_check_add(stream->in.check, segment->digest);
    if (segment->flags & SEGMENT_LAST)
        stream->in.check = 0;
    if (segment->flags & SEGMENT_FINISH)
        ends_end(streams, stream, WEFT_STREAM_FINISHED, true);
    return stream->state == STREAM_OPEN; /* the service may have cancelled it */
}

void incoming_offer(struct streams *streams, struct weft_stream *stream)
{
    struct assembly *assembly = &stream->in.assembly;
    struct assembly_segment *segment;
    const uint8_t *bytes;
    uint64_t base = assembly->base;
    while (stream->state == STREAM_OPEN && !stream->in.stalled &&
           (segment = assembly_first(assembly, &bytes)) != NULL) {
        if (!segment_offer(streams, stream, bytes, NULL, segment))
            break;
        assembly_step(assembly);
    }
    if (stream->state == STREAM_OPEN && assembly->base != base)
        incoming_answer(streams, stream); /* there is more credit */
}

/* The next segment, in its packet. */
static void segment_next(struct streams *streams, struct weft_stream *stream,
                         const struct segment *segment)
{
    struct assembly_segment passing = {
        .check = segment->check,
        .digest = segment->digest,
        .size = segment->size,
        .flags = segment->flags,
    };
    bool passed = !stream->in.stalled &&
                  segment_offer(streams, stream, segment->bytes, segment->copy, &passing);
    if (stream->state != STREAM_OPEN)
        return;
    if (!passed) {
        assembly_keep(&stream->in.assembly, segment, passing.taken);
        return;
    }
    assembly_step(&stream->in.assembly);
    if (stream->in.assembly.kept)
        incoming_offer(streams, stream);
}

void incoming_data(struct streams *streams, struct weft_stream *stream,
                   const struct segment *segment)
{
    struct streams_host *host = streams->host;
    if (stream->to_key && !host->is_root(host, stream->route)) {
        ends_end(streams, stream, WEFT_STREAM_MOVED, true);
        return;
    }
    incoming_tell(streams, stream);
    if (stream->state != STREAM_OPEN)
        return;
    streams->counts.received++;
    switch (assembly_judge(&stream->in.assembly, segment->sequence)) {
    case ASSEMBLY_NEXT:
        segment_next(streams, stream, segment);
        break;
    case ASSEMBLY_EARLY:
        assembly_keep(&stream->in.assembly, segment, 0);
        break;
    case ASSEMBLY_REPEAT:
        streams->counts.repeats++;
        if (HAS_BUG(host, STREAM_TWICE) && !stream->in.stalled && !stream->in.assembly.kept)
            (void)segment_offer(streams, stream, segment->bytes, NULL,
                                &(struct assembly_segment){.check = segment->check,
                                                           .digest = segment->digest,
                                                           .size = segment->size});
        break;
    case ASSEMBLY_BEYOND:
        return;
    }
    if (stream->state == STREAM_OPEN)
        incoming_answer(streams, stream);
}

/* ---- answers ---- */

struct packet *incoming_poll(struct streams *streams, struct weft_stream *stream, uint32_t room)
{
    if (PACKET_HEADER_SIZE + SEGMENT_SHORT_MAX > room)
        return NULL;
    struct segment segment = {
        .kind = SEGMENT_ACK,
        .to = stream->other,
        .from = {streams->run, stream->id},
    };
    assembly_answer(&stream->in.assembly, &segment.ack);
    segment.ack.marks = stream->in.marks;
    segment.ack.place =
        stream->in.acknowledged < stream->in.place ? stream->in.acknowledged : stream->in.place;
    struct packet *packet = ends_packet(streams, &segment);
    if (packet) {
        stream->in.answer = false;
        ends_ready(streams, stream, false);
    }
    return packet;
}
