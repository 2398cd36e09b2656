/* Tests the packets of streams: any bytes are refused, or are exactly what our writer writes; and
 * streams that are under way survive any sequence of well-formed packets from their peers. */
#include "base/digest.h"
#include "fuzz.h"
#include "node/stream/streams_impl.h"

static void decode(const uint8_t *data, size_t size)
{
    struct segment segment;
    uint8_t again[SEGMENT_SHORT_MAX];
    if (!segment_read(&segment, data, size))
        return;
    uint32_t head = segment_write(&segment, again);
    assert(head == (segment.kind == SEGMENT_DATA ? SEGMENT_DATA_HEAD : size));
    assert(!memcmp(again, data, head));
}

/* ---- a server whose peers send what the input says ---- */

struct fuzz_host {
    struct streams_host host;
    struct packet_pool *pool;
    unsigned arrived;
};

static struct fuzz_host fuzz;

static struct packet *fuzz_make(struct streams_host *host, uint32_t size, uint32_t stored)
{
    struct packet *packet = packet_take(fuzz.pool, PACKET_SIZE_MAX);
    if (packet) {
        packet->size = PACKET_HEADER_SIZE + size;
        packet->stored = PACKET_HEADER_SIZE + stored;
    }
    return packet;
}

static void fuzz_send(struct streams_host *host, struct packet *packet, node_id server)
{
    packet_done(packet);
}

static void fuzz_send_key(struct streams_host *host, struct packet *packet, const struct key *key)
{
    packet_done(packet);
}

static void fuzz_address(struct streams_host *host, struct packet *packet, node_id server)
{
}

static port_set fuzz_ports(struct streams_host *host, node_id server)
{
    return 1;
}

static node_id fuzz_root(struct streams_host *host, const struct key *key)
{
    return 1;
}

static bool fuzz_is_root(struct streams_host *host, uint64_t route)
{
    return true;
}

static bool fuzz_is_crowded(struct streams_host *host)
{
    return false;
}

static void fuzz_mistake(struct streams_host *host, const char *function, const char *reason)
{
}

static void fuzz_wake(struct streams_host *host, port_set ports)
{
}

static uint32_t fuzz_arrived(struct weft_self *self, struct weft_stream *stream,
                             const struct weft_stream_piece *piece)
{
    /* Every byte can be read. */
    const uint8_t *bytes = piece->bytes;
    for (uint32_t i = 0; i < piece->size; i++)
        fuzz.arrived += bytes[i];
    return fuzz.arrived % 5 ? piece->size : piece->size / 2;
}

static void *fuzz_target(struct weft_self *self, struct weft_stream *stream, uint64_t message,
                         uint64_t offset, uint32_t size)
{
    static uint8_t target[1000];
    return offset < sizeof target && size <= sizeof target - offset ? target + offset : NULL;
}

static void fuzz_done(struct weft_self *self, struct weft_call *call)
{
}

static const struct weft_streams settings = {
    .outgoing = 2, .incoming = 3, .window = 1, .arrived = fuzz_arrived, .target = fuzz_target};

/* Takes numbers out of the input. */
struct tape {
    const uint8_t *at;
    size_t left;
};

static uint8_t tape_next(struct tape *tape)
{
    if (!tape->left)
        return 0;
    tape->left--;
    return *tape->at++;
}

static struct segment_end end_of(const struct streams *streams, uint8_t byte)
{
    const struct weft_stream *stream = &streams->streams[byte % streams->count];
    uint64_t run = byte & 0x40 ? streams->run + 1 : streams->run;
    return (struct segment_end){run, stream->id + (byte & 0x80 ? 1u << STREAM_BITS : 0)};
}

static void packet_play(struct streams *streams, struct tape *tape)
{
    uint8_t bytes[64] = {1, 2, 3};
    uint8_t to = tape_next(tape), from = tape_next(tape);
    const struct weft_stream *target = &streams->streams[to % streams->count];
    struct segment segment = {
        .kind = (uint8_t)(1 + tape_next(tape) % 7),
        .flags = tape_next(tape),
        .to = end_of(streams, to),
        .from = from & 1 ? target->other : (struct segment_end){7, from},
        .limit = tape_next(tape),
        .sequence = tape_next(tape) % 8,
        .check = tape_next(tape),
        .size = tape_next(tape) % 64,
        .open = {1, 2, tape_next(tape), tape_next(tape), tape_next(tape)},
    };
    segment.ack = (struct segment_ack){
        .base = tape_next(tape) % 8,
        .limit = tape_next(tape),
        .place = tape_next(tape),
        .repeats = tape_next(tape),
        .bitmap_size = 2,
        .bitmap = {tape_next(tape), tape_next(tape)},
    };
    segment.digest = digest_bytes(bytes, segment.size);
    struct packet *packet = packet_take(fuzz.pool, PACKET_SIZE_MAX);
    assert(packet);
    uint32_t size = segment_write(&segment, packet_payload(packet));
    if (segment.kind == SEGMENT_DATA) {
        memcpy(packet_payload(packet) + size, bytes, segment.size);
        size += segment.size;
    }
    packet->size = packet->stored = PACKET_HEADER_SIZE + size;
    packet->source = from & 2 ? target->peer : from % 4;
    packet->kind = PACKET_TO_SERVER;
    streams_receive(streams, packet);
    packet_done(packet);
}

static void play(struct tape tape)
{
    static char message[40000];
    static void *memory, *window;
    struct weft_call calls[2] = {{.done = fuzz_done}, {.done = fuzz_done}};
    struct weft_stream *out;
    if (!fuzz.pool)
        fuzz.pool = packet_pool_open(64, PACKET_SIZE_MAX);
    fuzz.host = (struct streams_host){
        .make = fuzz_make,
        .send = fuzz_send,
        .send_key = fuzz_send_key,
        .address = fuzz_address,
        .ports = fuzz_ports,
        .root = fuzz_root,
        .is_root = fuzz_is_root,
        .is_crowded = fuzz_is_crowded,
        .mistake = fuzz_mistake,
        .wake = fuzz_wake,
        .server_count = 4,
        .now = 1000000000,
    };
    memory = memory ? memory : malloc(streams_size(&settings));
    window = window ? window : malloc(streams_window_size(&settings));
    memset(memory, 0, streams_size(&settings));
    struct streams *streams = streams_init(memory, window, &settings, &fuzz.host, 12345);
    for (unsigned i = 0; i < 2; i++) {
        int result = streams_open(streams, 1, NULL, NULL, &out);
        assert(!result);
        (void)streams_send(streams, out, &calls[i], message, sizeof message, false);
    }
    while (tape.left) {
        fuzz.host.now += 1000 * (env_nsec)tape_next(&tape);
        packet_play(streams, &tape);
        if (streams_next(streams) <= fuzz.host.now)
            streams_run(streams);
        struct packet *packet;
        for (unsigned i = 0; i < 8 && (packet = streams_poll(streams, 0, PACKET_SIZE_MAX)); i++)
            packet_done(packet);
        streams_check(streams);
    }
    assert(fuzz.pool->live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode(data, size);
    play((struct tape){data, size});
    return 0;
}
