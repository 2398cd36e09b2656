#include "node/stream/streams.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "node/stream/streams_impl.h"

enum {
    /* Packets to streams of this server: so many, then a pause, so that the node has time for
     * other work, and simulated time goes on. */
    HERE_MOST = 32,
    HERE_NSEC = 10000,
    WINDOW_MIN = 4,
    WINDOW_DEFAULT = 256 * 1024,
};

/* ---- memory ---- */

static uint32_t window_of(const struct weft_streams *settings)
{
    uint32_t bytes = settings->window ? settings->window : WINDOW_DEFAULT;
    uint32_t window = WINDOW_MIN;
    while (window < SEGMENT_WINDOW_MAX && window * SEGMENT_BYTES_MAX < bytes)
        window *= 2;
    return window;
}

const char *streams_refused(const struct weft_streams *settings)
{
    if (settings->outgoing > STREAMS_MAX || settings->incoming > STREAMS_MAX)
        return "asks for more than 30,000 streams";
    if (!settings->outgoing && !settings->incoming)
        return "asks for streams, but for none of either direction";
    if (settings->incoming && !settings->arrived)
        return "takes incoming streams, but has no arrived()";
    if (settings->patience < 0)
        return "has a negative patience for streams";
    return NULL;
}

/* The parts of the memory, one after another, each aligned to 64 bytes. */
struct layout {
    size_t streams, entries, heap, items, moments, transits, assemblies, buckets, size;
};

static size_t part(size_t *size, size_t count, size_t each)
{
    size_t at = *size;
    *size += (count * each + 63) / 64 * 64;
    return at;
}

/* A power of two. */
static uint32_t buckets_of(const struct weft_streams *settings)
{
    uint32_t buckets = 1;
    while (buckets < settings->incoming)
        buckets *= 2;
    return buckets;
}

static struct layout layout_make(const struct weft_streams *settings)
{
    size_t count = (size_t)settings->outgoing + settings->incoming, window = window_of(settings);
    struct layout layout = {.size = (sizeof(struct streams) + 63) / 64 * 64};
    layout.streams = part(&layout.size, count, sizeof(struct weft_stream));
    layout.entries = part(&layout.size, count, sizeof(struct turns_entry));
    layout.heap = part(&layout.size, 1, turns_size((uint32_t)count));
    layout.items = part(&layout.size, count, sizeof(struct moments_item));
    layout.moments = part(&layout.size, count, sizeof(uint32_t));
    layout.transits =
        part(&layout.size, settings->outgoing * window, sizeof(struct transit_segment));
    layout.assemblies =
        part(&layout.size, settings->incoming * window, sizeof(struct assembly_segment));
    layout.buckets = part(&layout.size, buckets_of(settings), sizeof(uint32_t));
    return layout;
}

size_t streams_size(const struct weft_streams *settings)
{
    return layout_make(settings).size;
}

size_t streams_window_size(const struct weft_streams *settings)
{
    return (size_t)settings->incoming * window_of(settings) * SEGMENT_BYTES_MAX;
}

static void free_fill(struct streams *streams, bool incoming, uint32_t first, uint32_t count)
{
    streams->free[incoming] = (struct stream_list){STREAM_NOTHING, STREAM_NOTHING};
    for (uint32_t i = count; i-- > 0;) {
        struct weft_stream *stream = &streams->streams[first + i];
        stream->number = first + i;
        stream->is_incoming = incoming;
        stream->next_free = streams->free[incoming].first;
        streams->free[incoming].first = first + i;
        if (stream->next_free == STREAM_NOTHING)
            streams->free[incoming].last = first + i;
    }
}

struct streams *streams_init(void *memory, void *window, const struct weft_streams *settings,
                             struct streams_host *host, uint64_t run)
{
    assert(run && !streams_refused(settings));
    uint8_t *base = memory;
    struct layout layout = layout_make(settings);
    struct streams *streams = memory;
    *streams = (struct streams){
        .settings = settings,
        .host = host,
        .run = run,
        .patience = settings->patience ? settings->patience : PATIENCE_NSEC,
        .window = window_of(settings),
        .count = settings->outgoing + settings->incoming,
        .streams = (void *)(base + layout.streams),
        .transits = (void *)(base + layout.transits),
        .assemblies = (void *)(base + layout.assemblies),
        .memory = window,
        .buckets = (void *)(base + layout.buckets),
        .bucket_mask = buckets_of(settings) - 1,
    };
    memset(streams->buckets, 0xff, ((size_t)streams->bucket_mask + 1) * sizeof(uint32_t));
    static_assert(STREAM_NOTHING == UINT32_MAX, "all bytes are 0xff");
    streams->probe = streams->patience / 4 < PROBE_NSEC ? streams->patience / 4 : PROBE_NSEC;
    streams->probe += !streams->probe;
    turns_init(&streams->turns, (void *)(base + layout.entries), streams->count,
               base + layout.heap);
    moments_init(&streams->moments, (void *)(base + layout.items), (void *)(base + layout.moments),
                 streams->count);
    free_fill(streams, false, 0, settings->outgoing);
    free_fill(streams, true, settings->outgoing, settings->incoming);
    return streams;
}

/* ---- packets that arrive ---- */

/* Handles END. A server that has restarted answers with another run for the same stream. */
static void end_take(struct streams *streams, struct weft_stream *stream,
                     const struct segment *segment)
{
    enum weft_stream_reason reason = (enum weft_stream_reason)segment->flags;
    bool opening = !stream->is_incoming && stream->state == STREAM_OPENING;
    bool restarted = reason == WEFT_STREAM_RESTARTED && segment->from.run != stream->other.run &&
                     segment->from.stream == stream->other.stream;
    if (!opening && !restarted && !end_is(&segment->from, &stream->other))
        return;
    if (reason < WEFT_STREAM_FINISHED || reason > WEFT_STREAM_LOST)
        reason = WEFT_STREAM_LOST;
    if (!stream->is_incoming && stream->out.finish_sent &&
        (reason == WEFT_STREAM_FINISHED || reason == WEFT_STREAM_LOST))
        ends_end(streams, stream, WEFT_STREAM_FINISHED, false);
    else if (!stream->is_incoming && stream->to_key && !opening &&
             (reason == WEFT_STREAM_RESTARTED || reason == WEFT_STREAM_MOVED ||
              reason == WEFT_STREAM_LOST))
        outgoing_lost(streams, stream, reason);
    else
        ends_end(streams, stream, reason == WEFT_STREAM_FINISHED ? WEFT_STREAM_LOST : reason,
                 false);
}

/* Handles a packet between two ends that are bound to each other. */
static void bound_take(struct streams *streams, struct weft_stream *stream,
                       const struct segment *segment)
{
    stream->heard_at = streams->host->now;
    switch (segment->kind) {
    case SEGMENT_DATA:
        if (stream->is_incoming)
            incoming_data(streams, stream, segment);
        break;
    case SEGMENT_ACK:
        if (!stream->is_incoming)
            outgoing_answered(streams, stream, &segment->ack);
        break;
    case SEGMENT_PROBE:
        if (stream->is_incoming) {
            incoming_tell(streams, stream);
            if (stream->state == STREAM_OPEN)
                incoming_answer(streams, stream); /* an ACK tells more than ALIVE */
        } else {
            struct segment alive = {.kind = SEGMENT_ALIVE};
            ends_tell(streams, stream, &alive);
        }
        break;
    default: /* ALIVE: only heard_at changes */
        break;
    }
}

/* The reason why the stream that a packet names is not here. */
static enum weft_stream_reason absence(const struct streams *streams, const struct segment *segment)
{
    uint32_t number = (uint32_t)(segment->to.stream & ((1u << STREAM_BITS) - 1));
    if (segment->to.run != streams->run)
        return WEFT_STREAM_RESTARTED;
    if (number >= streams->count || streams->streams[number].id != segment->to.stream ||
        streams->streams[number].state == STREAM_OPEN || !streams->streams[number].reason)
        return WEFT_STREAM_LOST;
    return (enum weft_stream_reason)streams->streams[number].reason;
}

static struct weft_stream *find(struct streams *streams, const struct segment_end *end)
{
    uint32_t number = (uint32_t)(end->stream & ((1u << STREAM_BITS) - 1));
    if (end->run != streams->run || number >= streams->count)
        return NULL;
    struct weft_stream *stream = &streams->streams[number];
    bool live = stream->state == STREAM_OPENING || stream->state == STREAM_OPEN;
    return live && stream->id == end->stream ? stream : NULL;
}

static bool is_of(const struct weft_stream *stream, const struct packet *packet,
                  const struct segment *segment)
{
    return stream->peer == packet->source && end_is(&stream->other, &segment->from);
}

/* False: damaged, or not a segment. */
static bool receive_read(struct streams *streams, const struct packet *packet,
                         struct segment *segment)
{
    const uint8_t *bytes = packet_payload(packet);
    uint32_t size = packet->size - PACKET_HEADER_SIZE;
    if (packet->stored != packet->size || !segment_parse(segment, bytes, size))
        return false;
    if (segment->kind == SEGMENT_DATA) {
        struct weft_stream *stream = find(streams, &segment->to);
        if (stream && stream->is_incoming && is_of(stream, packet, segment))
            incoming_digest(streams, stream, segment);
        else
            segment->digest = digest_bytes(segment->bytes, segment->size);
    }
    return segment_is_whole(segment, bytes, size);
}

void streams_receive(struct streams *streams, const struct packet *packet)
{
    struct segment segment;
    if (!receive_read(streams, packet, &segment)) {
        streams->counts.damaged++;
        return;
    }
    if (segment.kind == SEGMENT_OPEN) {
        incoming_open(streams, packet, &segment);
        return;
    }
    struct weft_stream *stream = find(streams, &segment.to);
    if (!stream) {
        ends_answer(streams, packet->source, &segment, absence(streams, &segment));
        return;
    }
    if (segment.kind == SEGMENT_END) {
        if (stream->peer == packet->source || stream->peer == NODE_NONE)
            end_take(streams, stream, &segment);
        return;
    }
    if (segment.kind == SEGMENT_ACCEPT) {
        if (!stream->is_incoming)
            outgoing_accepted(streams, stream, packet->source, &segment);
        return;
    }
    if (is_of(stream, packet, &segment)) {
        if (stream->is_incoming)
            stream->in.marks += packet->marked;
        bound_take(streams, stream, &segment);
    } else {
        ends_answer(streams, packet->source, &segment, WEFT_STREAM_LOST);
    }
}

/* ---- packets that leave ---- */

static struct packet *poll(struct streams *streams, uint32_t number, unsigned port, uint32_t room)
{
    struct weft_stream *stream = &streams->streams[number];
    bool here = port == PORT_MAX;
    assert(stream->state == STREAM_OPEN);
    struct packet *packet = stream->is_incoming ? incoming_poll(streams, stream, room)
                                                : outgoing_poll(streams, stream, room, !here);
    if (!packet)
        return NULL;
    turns_charge(&streams->turns, number, port, packet->size);
    if (!stream->is_incoming)
        outgoing_follow(streams, stream);
    return packet;
}

struct packet *streams_poll(struct streams *streams, unsigned port, uint32_t room)
{
    uint32_t number = streams->starved ? TURNS_NONE : turns_next(&streams->turns, port);
    if (number == TURNS_NONE)
        return NULL;
    const struct weft_stream *stream = &streams->streams[number];
    struct packet *packet = poll(streams, number, port, room);
    if (packet)
        streams->host->address(streams->host, packet, stream->peer);
    return packet;
}

/* Sends the packets whose receiver is on this server. */
static void here_send(struct streams *streams)
{
    uint32_t number;
    struct streams_host *host = streams->host;
    if (host->now < streams->here_at || turns_next_here(&streams->turns) == TURNS_NONE)
        return;
    streams->here_at = host->now + HERE_NSEC;
    for (unsigned i = 0; i < HERE_MOST && !streams->starved &&
                         (number = turns_next_here(&streams->turns)) != TURNS_NONE;
         i++) {
        struct packet *packet = poll(streams, number, PORT_MAX, PACKET_SIZE_MAX);
        if (packet)
            host->send(host, packet, host->here);
    }
}

/* ---- time ---- */

static int64_t reason_errno(enum weft_stream_reason reason)
{
    switch (reason) {
    case WEFT_STREAM_CANCELLED:
        return -ECANCELED;
    case WEFT_STREAM_DEADLINE:
        return -ETIMEDOUT;
    case WEFT_STREAM_UNREACHABLE:
        return -EHOSTUNREACH;
    default:
        return -ECONNRESET;
    }
}

/* Tells the service that the stream has ended. */
static void bury(struct streams *streams, struct weft_stream *stream)
{
    enum weft_stream_reason reason = (enum weft_stream_reason)stream->reason;
    bool known = !stream->is_incoming || stream->in.told;
    if (!stream->is_incoming)
        outgoing_done(streams, stream, reason_errno(reason));
    if (known && streams->settings->ended)
        streams->settings->ended(streams->host->self, stream, reason);
    if (stream->is_incoming)
        incoming_forget(streams, stream);
    ends_free(streams, stream);
}

/* Does what is due for a stream, and returns when there is more to do. */
static env_nsec stream_run(struct streams *streams, struct weft_stream *stream)
{
    env_nsec now = streams->host->now, next;
    if (now >= stream->deadline)
        ends_end(streams, stream, WEFT_STREAM_DEADLINE, true);
    else if (now - stream->heard_at >= streams->patience)
        ends_end(streams, stream, WEFT_STREAM_UNREACHABLE, true);
    if (stream->state == STREAM_ENDING)
        return now;
    env_nsec silent = stream->heard_at > stream->probed_at ? stream->heard_at : stream->probed_at;
    if (now - silent >= streams->probe) {
        struct segment probe = {.kind = SEGMENT_PROBE};
        if (stream->state == STREAM_OPEN)
            ends_tell(streams, stream, &probe);
        stream->probed_at = silent = now;
    }
    next = silent + streams->probe;
    if (stream->heard_at + streams->patience < next)
        next = stream->heard_at + streams->patience;
    if (stream->deadline < next)
        next = stream->deadline;
    if (stream->is_incoming) {
        incoming_offer(streams, stream);
        return stream->state == STREAM_ENDING ? now : next;
    }
    env_nsec at = outgoing_run(streams, stream);
    return at < next ? at : next;
}

void streams_run(struct streams *streams)
{
    env_nsec now = streams->host->now;
    /* At most once for each stream, so that a service that ends and opens streams from inside its
     * functions cannot keep the node from other work. */
    for (uint32_t left = streams->count; left && moments_next(&streams->moments) <= now; left--) {
        struct weft_stream *stream = &streams->streams[moments_first(&streams->moments)];
        moments_set(&streams->moments, stream->number, ENV_NEVER);
        if (stream->state == STREAM_ENDING) {
            bury(streams, stream);
            continue;
        }
        env_nsec next = stream_run(streams, stream);
        ends_due(streams, stream, next);
    }
    if (streams->starved && now >= streams->starved_until) {
        streams->starved = false;
        streams->host->wake(streams->host, turns_ports(&streams->turns));
    }
    here_send(streams);
}

env_nsec streams_next(const struct streams *streams)
{
    env_nsec next = moments_next(&streams->moments);
    if (streams->starved)
        return streams->starved_until < next ? streams->starved_until : next;
    if (streams->turns.lanes[0].count && streams->here_at < next)
        return streams->here_at;
    return next;
}

void streams_routes(struct streams *streams)
{
    struct streams_host *host = streams->host;
    turns_clear(&streams->turns);
    for (uint32_t i = 0; i < streams->count; i++) {
        struct weft_stream *stream = &streams->streams[i];
        if (stream->state != STREAM_OPEN)
            continue;
        if (stream->is_incoming) {
            ends_ready(streams, stream, stream->in.answer);
            continue;
        }
        node_id root = stream->to_key ? host->root(host, &stream->key) : NODE_NONE;
        if (root != NODE_NONE && root != stream->peer)
            outgoing_lost(streams, stream, WEFT_STREAM_MOVED);
        else
            outgoing_follow(streams, stream);
    }
}

/* ---- inspection ---- */

const struct streams_counts *streams_count(const struct streams *streams)
{
    return &streams->counts;
}

uint32_t streams_live(const struct streams *streams)
{
    return streams->live;
}

void streams_check(const struct streams *streams)
{
    uint32_t live = 0;
    turns_check(&streams->turns);
    for (uint32_t i = 0; i < streams->count; i++) {
        const struct weft_stream *stream = &streams->streams[i];
        live += stream->state != STREAM_FREE;
        assert(stream->number == i);
        if (stream->state != STREAM_OPEN)
            continue;
        assert(streams->moments.items[i].at != MOMENTS_NONE);
        if (stream->is_incoming)
            assembly_check(&stream->in.assembly);
        else
            transit_check(&stream->out.transit);
    }
    assert(live == streams->live);
}
