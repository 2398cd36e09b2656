/* ends: how streams begin and end, and what both directions need to send. */
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "node/stream/streams_impl.h"

/* ---- free streams ---- */

struct weft_stream *ends_begin(struct streams *streams, bool incoming)
{
    struct stream_list *list = &streams->free[incoming];
    if (list->first == STREAM_NOTHING)
        return NULL;
    struct weft_stream *stream = &streams->streams[list->first];
    assert(stream->state == STREAM_FREE && stream->is_incoming == incoming);
    list->first = stream->next_free;
    uint32_t number = stream->number;
    env_nsec now = streams->host->now;
    *stream = (struct weft_stream){
        .state = incoming ? STREAM_OPEN : STREAM_OPENING,
        .is_incoming = incoming,
        .number = number,
        .peer = NODE_NONE,
        .id = ++streams->generation << STREAM_BITS | number,
        .heard_at = now,
        .probed_at = now,
        .deadline = ENV_NEVER,
    };
    struct turns_entry *entry = &streams->turns.entries[number];
    entry->pass = 0;
    entry->weight = 1;
    entry->urgent = incoming;
    streams->live++;
    ends_due(streams, stream, now + streams->probe);
    return stream;
}

void ends_free(struct streams *streams, struct weft_stream *stream)
{
    struct stream_list *list = &streams->free[stream->is_incoming];
    assert(stream->state == STREAM_ENDING);
    stream->state = STREAM_FREE;
    stream->next_free = STREAM_NOTHING;
    if (list->first == STREAM_NOTHING)
        list->first = stream->number;
    else
        streams->streams[list->last].next_free = stream->number;
    list->last = stream->number;
    streams->live--;
    streams->counts.ended++;
    turns_leave(&streams->turns, stream->number);
    moments_set(&streams->moments, stream->number, ENV_NEVER);
}

/* ---- packets ---- */

/* Makes a packet with that head and room for more. */
static struct packet *make(struct streams *streams, const struct segment *segment, uint32_t more,
                           bool gather)
{
    uint8_t head[SEGMENT_SHORT_MAX];
    struct streams_host *host = streams->host;
    uint32_t size = segment_write(segment, head);
    struct packet *packet = host->make(host, size + more, gather ? size : size + more);
    if (!packet) {
        streams->starved = true;
        streams->starved_until = host->now + STARVED_NSEC;
        return NULL;
    }
    packet->stream = true;
    memcpy(packet_payload(packet), head, size);
    return packet;
}

struct packet *ends_packet(struct streams *streams, struct segment *segment)
{
    assert(segment->kind != SEGMENT_DATA);
    return make(streams, segment, 0, false);
}

struct packet *ends_packet_data(struct streams *streams, struct segment *segment,
                                const uint8_t *bytes, uint64_t *digest, bool gather)
{
    assert(segment->kind == SEGMENT_DATA);
    gather &= streams->host->gathers && segment->size;
    struct packet *packet = make(streams, segment, segment->size, gather);
    if (!packet)
        return NULL;
    if (gather) {
        packet->piece = bytes;
        packet->digest = digest;
        return packet;
    }
    uint8_t *head = packet_payload(packet);
    *digest = digest_copy(head + SEGMENT_DATA_HEAD, bytes, segment->size);
    segment_seal(head, *digest);
    streams->counts.copied += segment->size != 0;
    return packet;
}

static void send_to(struct streams *streams, node_id server, struct segment *segment)
{
    segment->from.run = streams->run;
    struct packet *packet = ends_packet(streams, segment);
    if (packet)
        streams->host->send(streams->host, packet, server);
}

void ends_tell(struct streams *streams, const struct weft_stream *stream, struct segment *segment)
{
    assert(stream->peer != NODE_NONE);
    segment->to = stream->other;
    segment->from.stream = stream->id;
    send_to(streams, stream->peer, segment);
}

/* The answer comes from the end that the packet named, so that its sender knows the stream. */
void ends_answer(struct streams *streams, node_id source, const struct segment *segment,
                 enum weft_stream_reason reason)
{
    struct segment answer = {
        .kind = SEGMENT_END,
        .flags = (uint8_t)reason,
        .to = segment->from,
        .from = {.stream = segment->to.stream},
    };
    if (segment->kind != SEGMENT_END && source < streams->host->server_count)
        send_to(streams, source, &answer);
}

/* ---- what is due, and what can be sent ---- */

void ends_due(struct streams *streams, const struct weft_stream *stream, env_nsec at)
{
    if (at < streams->moments.items[stream->number].due)
        moments_set(&streams->moments, stream->number, at);
}

void ends_ready(struct streams *streams, struct weft_stream *stream, bool ready)
{
    struct streams_host *host = streams->host;
    port_set ports = 0;
    if (ready == turns_waits(&streams->turns, stream->number))
        return; /* its ports change only in streams_routes, which removes it before */
    if (ready && stream->peer != host->here) {
        ports = host->ports(host, stream->peer);
        ready = ports != 0;
    }
    if (!ready) {
        turns_leave(&streams->turns, stream->number);
        return;
    }
    turns_wait(&streams->turns, stream->number, ports);
    if (ports)
        host->wake(host, ports);
}

/* ---- the end ---- */

void ends_end(struct streams *streams, struct weft_stream *stream, enum weft_stream_reason reason,
              bool tell)
{
    if (stream->state == STREAM_FREE || stream->state == STREAM_ENDING)
        return;
    struct segment end = {.kind = SEGMENT_END, .flags = (uint8_t)reason};
    if (tell && stream->other.stream)
        ends_tell(streams, stream, &end);
    stream->state = STREAM_ENDING;
    stream->reason = (uint8_t)reason;
    turns_leave(&streams->turns, stream->number);
    ends_due(streams, stream, streams->host->now);
}
