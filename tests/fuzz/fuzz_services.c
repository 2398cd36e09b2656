/* Tests the services of a server with programs and neighbours that use them in any order: requests,
 * programs that hang up or take no answers, packets from the links, packets of the server itself
 * that come back, partly changed (so that they contain numbers that the server waits for), links
 * that go down, and time. The server stays consistent, and loses no packet. The input is a list of
 * such steps. */
#include "base/bytes.h"
#include "fuzz_stage.h"
#include "services/services.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_REQUEST,
    STEP_GONE,
    STEP_PACKET,
    STEP_BACK,
    STEP_TIME,
    STEP_CARRIER,
    STEP_DEAF,
    STEP_STATS,
    STEP_COUNT,
};

enum { STEPS_MAX = 96, SERVICES = 6 };

static void on_number(void *context, const char *service, const char *name, uint64_t value)
{
    assert(service[0] && name[0]);
}

static const uint8_t *bytes_take(struct reader *in, uint32_t *size, uint32_t most)
{
    *size = read_u16(in) % (most + 1);
    *size = *size < in->left ? *size : (uint32_t)in->left;
    return read_bytes(in, *size);
}

static void step_packet(struct fuzz_stage *stage, struct reader *in)
{
    unsigned port = read_u8(in) % STAGE_PORTS;
    struct packet fields = {.kind = read_u8(in) % 3, .service = 1 + read_u8(in) % SERVICES};
    fields.hops_left = read_u8(in);
    fields.source = read_u8(in) % 5;
    fields.server = read_u8(in) % 5;
    fields.identity = read_u8(in);
    uint8_t key[20];
    uint32_t size;
    if (fields.kind == PACKET_TO_KEY)
        read_copy(in, key, sizeof key);
    const uint8_t *payload = bytes_take(in, &size, PACKET_PAYLOAD_MAX);
    stage_bring(stage, port, &fields, fields.kind == PACKET_TO_KEY ? key : NULL, payload, size);
}

/* Returns a packet that the server sent, from its destination: unchanged, or with some bytes
 * changed. */
static void step_back(struct fuzz_stage *stage, struct reader *in)
{
    unsigned which = read_u8(in), changes = read_u8(in) % 4;
    if (!stage->kept_count)
        return;
    struct stage_kept kept = stage->kept[(stage->kept_count - 1 - which % STAGE_KEPT) % STAGE_KEPT];
    struct packet header = {.bytes = kept.bytes, .size = kept.size, .stored = kept.size};
    if (kept.size < PACKET_HEADER_SIZE || !packet_read(&header, kept.size))
        return;
    uint32_t size = kept.size - PACKET_HEADER_SIZE;
    uint8_t *payload = kept.bytes + PACKET_HEADER_SIZE;
    for (unsigned i = 0; i < changes; i++) {
        uint32_t at = read_u16(in);
        uint8_t value = read_u8(in);
        if (size)
            payload[at % size] = value;
    }
    bool answer = !(which & 128); /* else it travelled in a circle */
    node_id source = header.source;
    header.source = answer && header.kind == PACKET_TO_SERVER ? header.server : 1;
    header.server = answer ? source : header.server;
    header.kind = answer ? PACKET_TO_SERVER : header.kind;
    stage_bring(stage, kept.port, &header, header.kind == PACKET_TO_KEY ? kept.bytes + 12 : NULL,
                payload, size);
}

static void step_request(struct fuzz_stage *stage, struct reader *in)
{
    uint16_t service = 1 + read_u8(in) % SERVICES;
    uint64_t client = read_u8(in) % STAGE_CLIENTS;
    uint32_t size;
    const uint8_t *bytes = bytes_take(in, &size, PACKET_PAYLOAD_MAX);
    const struct env_answer from = {client, 1, service};
    int result = node_local(stage->node, &from, size ? bytes : (const uint8_t *)"", size);
    assert(result == 0 || result == -ENOENT);
}

static void stage_step(struct fuzz_stage *stage, struct reader *in)
{
    static const int locals[] = {0, -EAGAIN, -EPIPE};
    unsigned what = read_u8(in);
    switch ((enum step)(what % STEP_COUNT)) {
    case STEP_REQUEST:
        step_request(stage, in);
        break;
    case STEP_GONE:
        node_local_gone(stage->node, read_u8(in) % STAGE_CLIENTS);
        break;
    case STEP_PACKET:
        step_packet(stage, in);
        break;
    case STEP_BACK:
        step_back(stage, in);
        break;
    case STEP_TIME:
        stage->env.now += (env_nsec)1 << read_u8(in) % 36;
        break;
    case STEP_CARRIER:
        node_carrier(stage->node, what >> 4 & 3, what >> 6 & 1);
        break;
    case STEP_DEAF:
        stage->local = locals[read_u8(in) % 3];
        break;
    case STEP_STATS:
    case STEP_COUNT:
        node_stats(stage->node, on_number, stage);
        break;
    }
    stage_run(stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_stage stage;
    struct reader in = reader_make(data, size);
    enum err err = stage_open(&stage, services_all, NULL);
    assert(err == OK);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        stage_step(&stage, &in);
    stage_close(&stage);
    return 0;
}
