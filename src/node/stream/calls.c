/* calls: the calls of a service on its streams. A wrong call is refused and reported by name
 * (streams_host.mistake). */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "node/stream/streams_impl.h"

#define SIZE_MOST (1ull << 62) /* of a message: places are 64-bit numbers */

static int mistake(struct streams *streams, const char *function, const char *reason)
{
    streams->host->mistake(streams->host, function, reason);
    return -EINVAL;
}

/* A pointer that the service passes may be of another service, or of a stream that has ended. */
static bool is_ours(const struct streams *streams, const struct weft_stream *stream)
{
    uintptr_t offset = (uintptr_t)stream - (uintptr_t)streams->streams;
    return offset / sizeof *stream < streams->count && offset % sizeof *stream == 0 &&
           stream->state != STREAM_FREE;
}

/* Returns 0 if the stream may be used in that direction, -EPIPE if it ends, or -EINVAL. */
static int stream_check(struct streams *streams, const struct weft_stream *stream, bool incoming,
                        const char *function)
{
    if (!is_ours(streams, stream))
        return mistake(streams, function, "there is no such stream, or it has ended");
    if (stream->is_incoming != incoming)
        return mistake(streams, function,
                       incoming ? "the stream is an outgoing one"
                                : "the stream is an incoming one");
    return stream->state == STREAM_ENDING ? -EPIPE : 0;
}

/* ---- opening ---- */

int streams_open(struct streams *streams, node_id server, const struct key *key,
                 const struct weft_stream_options *options, struct weft_stream **out)
{
    static const struct weft_stream_options none;
    options = options ? options : &none;
    if (!out)
        return mistake(streams, key ? "weft_stream_open_key" : "weft_stream_open_server",
                       "there is no place for the stream");
    if (!key && server >= streams->host->server_count)
        return mistake(streams, "weft_stream_open_server", "there is no such server");
    struct weft_stream *stream = ends_begin(streams, false);
    if (!stream)
        return -ENOBUFS;
    stream->peer = key ? NODE_NONE : server;
    stream->to_key = key != NULL;
    if (key) {
        stream->key = *key;
        stream->route = key_route(key);
    }
    stream->subject = options->subject;
    stream->identity = hash_mix(streams->run ^ stream->id); /* differs from run to run */
    stream->weight = options->weight ? options->weight : 1;
    streams->turns.entries[stream->number].weight = stream->weight;
    stream->out = (struct stream_outgoing){
        .moves = key && options->moves,
        .told_moved = true,
        .open_wait = OPEN_NSEC,
        .probe_wait = PROBE_SOON_NSEC,
    };
    stream->out.end = &stream->out.first;
    streams_deadline(streams, stream, options->deadline);
    streams->counts.opened++;
    outgoing_open(streams, stream);
    *out = stream;
    return 0;
}

/* ---- sending ---- */

/* A number that marks a call under way. The service may leave any other number in its place. */
static uint64_t call_token(const struct streams *streams, const struct weft_call *call)
{
    return hash_mix((uintptr_t)call ^ streams->run) | 1;
}

static int call_check(struct streams *streams, struct weft_call *call, const void *bytes,
                      uint64_t size, bool more)
{
    static const char function[] = "weft_stream_send";
    if (!call || !call->done)
        return mistake(streams, function, "the call has no done()");
    if (stream_call_of(call)->token == call_token(streams, call))
        return mistake(streams, function, "the call is under way already");
    if (size > SIZE_MOST || (size && !bytes))
        return mistake(streams, function, "there are no such bytes");
    if (more && !size)
        return mistake(streams, function, "a part of a message has at least one byte");
    return 0;
}

int streams_send(struct streams *streams, struct weft_stream *stream, struct weft_call *call,
                 const void *bytes, uint64_t size, bool more)
{
    int result = stream_check(streams, stream, false, "weft_stream_send");
    if (!result)
        result = call_check(streams, call, bytes, size, more);
    if (result)
        return result;
    struct stream_outgoing *out = &stream->out;
    if (out->finish)
        return -EPIPE;
    *stream_call_of(call) = (struct stream_call){
        .bytes = bytes,
        .size = size,
        .end = out->added + size + !more,
        .more = more,
        .token = call_token(streams, call),
    };
    out->added += size + !more;
    *out->end = call;
    out->end = &stream_call_of(call)->next;
    if (!out->cut) {
        out->cut = call;
        out->cut_offset = 0;
    }
    if (stream->state == STREAM_OPEN)
        outgoing_follow(streams, stream);
    return 0;
}

int streams_finish(struct streams *streams, struct weft_stream *stream)
{
    int result = stream_check(streams, stream, false, "weft_stream_finish");
    if (result || stream->out.finish)
        return result ? result : -EPIPE;
    stream->out.finish = true;
    if (stream->state == STREAM_OPEN)
        outgoing_follow(streams, stream);
    return 0;
}

/* ---- both directions ---- */

void streams_cancel(struct streams *streams, struct weft_stream *stream)
{
    if (is_ours(streams, stream))
        ends_end(streams, stream, WEFT_STREAM_CANCELLED, true);
    else
        (void)mistake(streams, "weft_stream_cancel", "there is no such stream, or it has ended");
}

void streams_deadline(struct streams *streams, struct weft_stream *stream, env_nsec deadline)
{
    if (!is_ours(streams, stream)) {
        (void)mistake(streams, "weft_stream_deadline", "there is no such stream, or it has ended");
        return;
    }
    if (stream->state == STREAM_ENDING)
        return;
    stream->deadline = deadline ? deadline : ENV_NEVER;
    ends_due(streams, stream, stream->deadline);
}

/* ---- receiving ---- */

void streams_acknowledge(struct streams *streams, struct weft_stream *stream, uint64_t place)
{
    static const char function[] = "weft_stream_acknowledge";
    if (stream_check(streams, stream, true, function))
        return;
    if (!streams->settings->acknowledges)
        (void)mistake(streams, function, "the service has not set `acknowledges`");
    else if (place > stream->in.offered)
        (void)mistake(streams, function, "arrived() has not been called for that place yet");
    else if (place > stream->in.acknowledged) {
        stream->in.acknowledged = place;
        incoming_answer(streams, stream);
    }
}

void streams_resume(struct streams *streams, struct weft_stream *stream)
{
    if (stream_check(streams, stream, true, "weft_stream_resume") || !stream->in.stalled)
        return;
    stream->in.stalled = false;
    ends_due(streams, stream, streams->host->now); /* not from inside this call */
}

/* ---- functions of weft/stream.h that need no node, and so report no mistake ---- */

bool weft_stream_is_incoming(const struct weft_stream *stream)
{
    return stream && stream->is_incoming;
}

weft_server weft_stream_peer(const struct weft_stream *stream)
{
    return stream ? stream->peer : WEFT_NOBODY;
}

uint64_t weft_stream_subject(const struct weft_stream *stream)
{
    return stream ? stream->subject : 0;
}

uint64_t weft_stream_identity(const struct weft_stream *stream)
{
    return stream ? stream->identity : 0;
}

bool weft_stream_key(const struct weft_stream *stream, struct weft_key *key)
{
    bool to_key = stream && stream->to_key;
    if (to_key && key)
        memcpy(key->bytes, stream->key.bytes, KEY_SIZE);
    return to_key;
}

void weft_stream_set_context(struct weft_stream *stream, void *context)
{
    if (stream)
        stream->context = context;
}

void *weft_stream_context(const struct weft_stream *stream)
{
    return stream ? stream->context : NULL;
}

const char *weft_stream_reason(enum weft_stream_reason reason)
{
    static const char *const names[] = {
        [WEFT_STREAM_FINISHED] = "finished",   [WEFT_STREAM_CANCELLED] = "cancelled",
        [WEFT_STREAM_DEADLINE] = "deadline",   [WEFT_STREAM_UNREACHABLE] = "unreachable",
        [WEFT_STREAM_RESTARTED] = "restarted", [WEFT_STREAM_REFUSED] = "refused",
        [WEFT_STREAM_FULL] = "full",           [WEFT_STREAM_MOVED] = "moved",
        [WEFT_STREAM_DAMAGED] = "damaged",     [WEFT_STREAM_LOST] = "lost",
    };
    return (unsigned)reason < sizeof names / sizeof *names && names[reason] ? names[reason] : "?";
}
