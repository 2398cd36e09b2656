/* stream_load: a service for tests and benchmarks of streams, written against the public headers
 * alone. Each server sends messages whose bytes are known everywhere, and checks every byte that
 * arrives. Requests are text:
 *
 *   flow TO SIZE COUNT WEIGHT AGAIN   opens a stream to server TO, or to the key `TO` if TO is not
 * a number, and sends COUNT messages (0: until `stop`) of SIZE bytes; AGAIN 1: opens it again when
 * it ends early stop                              finishes all streams after the messages under way
 *   report                            answers with the counters below, as NAME=VALUE words
 *   shares                            answers with `WEIGHT:BYTES`, acknowledged, for each flow */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/stream.h>

#ifndef STREAM_LOAD_INCOMING
#define STREAM_LOAD_INCOMING 200
#endif
#ifndef STREAM_LOAD_WINDOW
#define STREAM_LOAD_WINDOW 0 /* the default */
#endif
#ifndef STREAM_LOAD_PATIENCE
#define STREAM_LOAD_PATIENCE 0
#endif

#define FLOWS_MAX   256
#define CALLS       3 /* messages of a flow under way */
#define SIZE_MAX_   (4u << 20)
#define PATTERN     (SIZE_MAX_ + 65536)
#define TICK        20000000 /* nanoseconds */
#define REASONS_MAX 16

struct flow {
    struct weft_stream *stream; /* NULL: closed */
    uint64_t subject;
    weft_server server; /* WEFT_NOBODY: to the key */
    struct weft_key key;
    uint32_t size, count;
    uint16_t weight;
    bool used, again, stopped;
    uint64_t sent, done, failed; /* messages, of all its streams */
    uint64_t first;              /* message of this stream: `sent` when it was opened */
    uint64_t bytes;              /* acknowledged */
    struct letter {
        struct weft_call call;
        struct flow *flow;
        bool busy;
    } letters[CALLS];
};

struct arriving {
    uint64_t message, offset;
    bool used, begun;
};

struct load {
    struct flow flows[FLOWS_MAX];
    struct arriving arrivings[4096];
    uint8_t *pattern;
    uint64_t opened, ended, moved, messages, bytes, wrong, done, failed;
    uint64_t reasons[REASONS_MAX];
    uint64_t subjects;
};

/* The bytes of a message begin at a place of the pattern that depends on its stream and number. */
static const uint8_t *message_bytes(const struct load *load, uint64_t subject, uint64_t message)
{
    return load->pattern + (subject * 7919 + message * 104729) % 65536;
}

static int start(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    uint64_t random = 88172645463325252u;
    load->pattern = weft_allocate(self, PATTERN);
    if (!load->pattern)
        return -12;
    for (uint32_t i = 0; i < PATTERN; i += 8) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        memcpy(load->pattern + i, &random, 8);
    }
    return weft_timer(self, weft_now(self) + TICK, 0);
}

/* ---- sending ---- */

static void done(struct weft_self *self, struct weft_call *call);

static void flow_fill(struct weft_self *self, struct flow *flow)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < CALLS && !flow->stopped; i++) {
        struct letter *letter = &flow->letters[i];
        if (letter->busy || (flow->count && flow->sent == flow->count))
            continue;
        letter->call.done = done;
        letter->flow = flow;
        uint64_t message = flow->sent - flow->first;
        const uint8_t *bytes = message_bytes(load, flow->subject, message);
        if (weft_stream_send(self, flow->stream, &letter->call, bytes, flow->size, false) < 0)
            return;
        letter->busy = true;
        flow->sent++;
    }
    if (flow->stopped || (flow->count && flow->sent == flow->count))
        (void)weft_stream_finish(self, flow->stream);
}

static void done(struct weft_self *self, struct weft_call *call)
{
    struct load *load = weft_memory(self);
    struct letter *letter = (struct letter *)(void *)call;
    struct flow *flow = letter->flow;
    letter->busy = false;
    if (call->result < 0) {
        flow->failed++;
        load->failed++;
        return;
    }
    flow->done++;
    load->done++;
    flow->bytes += flow->size;
    /* A stream within a server takes no simulated time: it goes on with the next tick. */
    if (flow->stream && weft_stream_peer(flow->stream) != weft_here(self))
        flow_fill(self, flow);
}

static void flow_open(struct weft_self *self, struct flow *flow)
{
    struct load *load = weft_memory(self);
    struct weft_stream_options options = {
        .subject = flow->subject =
            (uint64_t)weft_here(self) << 32 | (weft_random(self) & 0xffff0000u) | ++load->subjects,
        .weight = flow->weight,
        .moves = true,
    };
    flow->first = flow->sent;
    int result = flow->server == WEFT_NOBODY
                     ? weft_stream_open_key(self, &flow->key, &options, &flow->stream)
                     : weft_stream_open_server(self, flow->server, &options, &flow->stream);
    if (result < 0) {
        flow->stream = NULL;
        return;
    }
    weft_stream_set_context(flow->stream, flow);
    flow_fill(self, flow);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < FLOWS_MAX; i++) {
        struct flow *flow = &load->flows[i];
        if (flow->stream)
            flow_fill(self, flow);
        else if (flow->used && flow->again && !flow->stopped)
            flow_open(self, flow);
    }
    (void)weft_timer(self, weft_now(self) + TICK, 0);
}

/* ---- receiving ---- */

static void opened(struct weft_self *self, struct weft_stream *stream)
{
    struct load *load = weft_memory(self);
    load->opened++;
    for (unsigned i = 0; i < sizeof load->arrivings / sizeof *load->arrivings; i++)
        if (!load->arrivings[i].used) {
            load->arrivings[i] = (struct arriving){.used = true};
            weft_stream_set_context(stream, &load->arrivings[i]);
            return;
        }
}

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    struct load *load = weft_memory(self);
    struct arriving *arriving = weft_stream_context(stream);
    if (!arriving->begun) { /* after a move it begins with a later message */
        arriving->begun = true;
        arriving->message = piece->message;
    }
    const uint8_t *bytes = message_bytes(load, weft_stream_subject(stream), piece->message);
    bool right = piece->message == arriving->message && piece->offset == arriving->offset &&
                 piece->offset + piece->size <= SIZE_MAX_ &&
                 !memcmp(piece->bytes, bytes + piece->offset, piece->size);
    load->wrong += !right;
    load->bytes += piece->size;
    arriving->offset += piece->size;
    if (piece->last) {
        load->messages++;
        arriving->message++;
        arriving->offset = 0;
    }
    return piece->size;
}

static void moved(struct weft_self *self, struct weft_stream *stream, uint64_t messages)
{
    struct load *load = weft_memory(self);
    struct flow *flow = weft_stream_context(stream);
    load->moved++;
    load->wrong += messages != flow->done - (flow->first - flow->failed);
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    struct load *load = weft_memory(self);
    load->ended++;
    if (weft_stream_is_incoming(stream)) {
        struct arriving *arriving = weft_stream_context(stream);
        arriving->used = false;
        return;
    }
    struct flow *flow = weft_stream_context(stream);
    flow->stream = NULL;
    load->reasons[reason < REASONS_MAX ? reason : 0]++;
    load->wrong += flow->sent != flow->done + flow->failed; /* each call is done before */
}

/* ---- requests ---- */

static void flow_request(struct weft_self *self, const char *text)
{
    struct load *load = weft_memory(self);
    char to[64];
    unsigned size, count, weight, again;
    if (sscanf(text, "flow %63s %u %u %u %u", to, &size, &count, &weight, &again) != 5 ||
        size > SIZE_MAX_)
        return;
    for (unsigned i = 0; i < FLOWS_MAX; i++) {
        struct flow *flow = &load->flows[i];
        if (flow->used)
            continue;
        char *end;
        unsigned long server = strtoul(to, &end, 10);
        *flow = (struct flow){
            .used = true,
            .server = *end ? WEFT_NOBODY : (weft_server)server,
            .key = weft_key_of(to, (uint32_t)strlen(to)),
            .size = size,
            .count = count,
            .weight = (uint16_t)weight,
            .again = again != 0,
        };
        flow_open(self, flow);
        return;
    }
}

static void stop_request(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < FLOWS_MAX; i++) {
        load->flows[i].stopped = true;
        if (load->flows[i].stream)
            (void)weft_stream_finish(self, load->flows[i].stream);
    }
}

static uint32_t report_write(const struct load *load, char *text, uint32_t room)
{
    unsigned open = 0;
    for (unsigned i = 0; i < FLOWS_MAX; i++)
        open += load->flows[i].stream != NULL;
    uint32_t size = (uint32_t)snprintf(
        text, room,
        "open=%u opened=%llu ended=%llu moved=%llu messages=%llu bytes=%llu wrong=%llu "
        "done=%llu failed=%llu",
        open, (unsigned long long)load->opened, (unsigned long long)load->ended,
        (unsigned long long)load->moved, (unsigned long long)load->messages,
        (unsigned long long)load->bytes, (unsigned long long)load->wrong,
        (unsigned long long)load->done, (unsigned long long)load->failed);
    for (unsigned i = 1; i < REASONS_MAX && size < room; i++)
        if (load->reasons[i])
            size += (uint32_t)snprintf(text + size, room - size, " %s=%llu",
                                       weft_stream_reason((enum weft_stream_reason)i),
                                       (unsigned long long)load->reasons[i]);
    return size;
}

static uint32_t shares_write(const struct load *load, char *text, uint32_t room)
{
    uint32_t size = 0;
    for (unsigned i = 0; i < FLOWS_MAX && size < room; i++)
        if (load->flows[i].used)
            size += (uint32_t)snprintf(text + size, room - size, "%u:%llu ", load->flows[i].weight,
                                       (unsigned long long)load->flows[i].bytes);
    return size;
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    char text[128], answer[8000] = "ok";
    uint32_t written = 2;
    if (size >= sizeof text)
        return;
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (!strncmp(text, "flow ", 5))
        flow_request(self, text);
    else if (!strcmp(text, "stop"))
        stop_request(self);
    else if (!strcmp(text, "report"))
        written = report_write(weft_memory(self), answer, sizeof answer);
    else if (!strcmp(text, "shares"))
        written = shares_write(weft_memory(self), answer, sizeof answer);
    weft_answer(self, client, ticket, answer, written < sizeof answer ? written : sizeof answer);
}

static const struct weft_service_ops ops = {.start = start, .timer = timer, .request = request};
static const struct weft_streams streams = {
    .outgoing = FLOWS_MAX,
    .incoming = STREAM_LOAD_INCOMING,
    .window = STREAM_LOAD_WINDOW,
    .patience = STREAM_LOAD_PATIENCE,
    .opened = opened,
    .arrived = arrived,
    .moved = moved,
    .ended = ended,
};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "stream-load",
    .id = 300,
    .size = sizeof(struct load),
    .ops = &ops,
    .streams = &streams,
};
