/* way_service: a plug-in of bench/stream: sends to one server as fast as the links take it, raw
 * packets or a stream of messages of 1 MiB, and counts what arrives. Requests are text:
 *
 *   raw TO      sends packets of 8,900 bytes to that server
 *   stream TO   opens a stream to that server, with three messages under way
 *   stop        ends both
 *   count       answers with the bytes that have arrived here, and the time in nanoseconds */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/stream.h>

#define MESSAGE  (1u << 20)
#define DEPTH    3
#define INCOMING 64
#define WAKE     1000000 /* nanoseconds after which links that came back are polled again */

struct way {
    struct letter {
        struct weft_call call;
        bool busy;
    } letters[DEPTH];
    struct weft_stream *stream; /* NULL: none */
    uint8_t *bytes;
    weft_server raw; /* WEFT_NOBODY: no packets are sent */
    uint64_t arrived;
};

static int start(struct weft_self *self)
{
    struct way *way = weft_memory(self);
    way->raw = WEFT_NOBODY;
    way->bytes = weft_allocate(self, MESSAGE);
    if (!way->bytes)
        return -12;
    memset(way->bytes, 0x5a, MESSAGE);
    return 0;
}

/* ---- raw packets ---- */

static struct weft_packet *poll(struct weft_self *self, unsigned port, uint32_t room)
{
    const struct way *way = weft_memory(self);
    if (way->raw == WEFT_NOBODY || room < WEFT_PAYLOAD_MAX + WEFT_HEADER_SIZE)
        return NULL;
    struct weft_packet *packet = weft_packet_hollow(self, WEFT_PAYLOAD_MAX, 8);
    if (packet && !(weft_address_server(self, packet, way->raw) >> port & 1)) {
        weft_done(packet);
        return NULL;
    }
    return packet;
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    const struct way *way = weft_memory(self);
    if (way->raw == WEFT_NOBODY)
        return;
    (void)weft_wake(self, UINT32_MAX);
    (void)weft_timer(self, weft_now(self) + WAKE, 0);
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct way *way = weft_memory(self);
    way->arrived += weft_size_sent(packet);
    weft_done(packet);
}

/* ---- streams ---- */

static void done(struct weft_self *self, struct weft_call *call);

static void fill(struct weft_self *self)
{
    struct way *way = weft_memory(self);
    for (unsigned i = 0; i < DEPTH && way->stream; i++) {
        struct letter *letter = &way->letters[i];
        if (letter->busy)
            continue;
        letter->call.done = done;
        letter->busy =
            weft_stream_send(self, way->stream, &letter->call, way->bytes, MESSAGE, false) == 0;
    }
}

static void done(struct weft_self *self, struct weft_call *call)
{
    ((struct letter *)(void *)call)->busy = false;
    if (call->result >= 0)
        fill(self);
}

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    struct way *way = weft_memory(self);
    way->arrived += piece->size;
    return piece->size;
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    struct way *way = weft_memory(self);
    if (way->stream == stream)
        way->stream = NULL;
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct way *way = weft_memory(self);
    char text[64] = "", answer[64] = "ok";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    if (!strncmp(text, "raw ", 4)) {
        way->raw = (weft_server)strtoul(text + 4, NULL, 10);
        timer(self, 0);
    } else if (!strncmp(text, "stream ", 7) && !way->stream) {
        weft_server to = (weft_server)strtoul(text + 7, NULL, 10);
        if (weft_stream_open_server(self, to, NULL, &way->stream) < 0)
            way->stream = NULL;
        fill(self);
    } else if (!strcmp(text, "stop")) {
        way->raw = WEFT_NOBODY;
        if (way->stream)
            weft_stream_cancel(self, way->stream);
    } else if (!strcmp(text, "count")) {
        snprintf(answer, sizeof answer, "%llu %lld", (unsigned long long)way->arrived,
                 (long long)weft_now(self));
    }
    (void)weft_answer(self, client, ticket, answer, (uint32_t)strlen(answer));
}

static const struct weft_service_ops ops = {
    .start = start, .deliver = deliver, .poll = poll, .timer = timer, .request = request};
static const struct weft_streams streams = {
    .outgoing = 2, .incoming = INCOMING, .window = 2u << 20, .arrived = arrived, .ended = ended};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "way",
    .id = 302,
    .queue = WEFT_QUEUE_OWN,
    .size = sizeof(struct way),
    .ops = &ops,
    .streams = &streams,
};
