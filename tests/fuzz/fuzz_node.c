/* Tests a server with any input on its links, valid messages or not: it stays consistent, loses no
 * packet, and counts what it drops. The input is a list of steps: what arrived at which port, with
 * a correct checksum or as it is, how much time passes, and how carriers change. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/links/hello.h"
#include "node/node.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COUNT_MAX = 64, PORTS = 4, LAYOUT_AT = 32 };

struct stage {
    struct env env;
    struct packet *waiting[PORTS];
    uint64_t asked;
    uint8_t layout[8]; /* as in the node's own hellos */
};

static unsigned on_receive(struct env *env, unsigned port, struct packet **out, unsigned most)
{
    struct stage *stage = (struct stage *)env;
    if (!stage->waiting[port])
        return 0;
    out[0] = stage->waiting[port];
    stage->waiting[port] = NULL;
    return 1;
}

static uint32_t on_room(struct env *env, unsigned port)
{
    return ((struct stage *)env)->asked++ % 7 == 6 ? 0 : PACKET_SIZE_MAX;
}

static void on_transmit(struct env *env, unsigned port, struct packet **packets, unsigned count,
                        bool lazy)
{
    for (unsigned i = 0; i < count; i++) {
        struct packet copy = *packets[i];
        packet_seal_hops(&copy);
        assert(packet_read(&copy, packets[i]->size)); /* what leaves is always valid */
        if (packets[i]->service == 0 && packet_payload(packets[i])[0] == HELLO)
            memcpy(((struct stage *)env)->layout, packet_payload(packets[i]) + LAYOUT_AT, 8);
        packet_done(packets[i]);
    }
}

static int on_local(struct env *env, const struct env_answer *to, const void *bytes, uint32_t size)
{
    return 0;
}

static const struct env_ops ops = {
    .receive = on_receive, .room = on_room, .transmit = on_transmit, .local = on_local};

static void on_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (weft_hops(packet) & 1)
        weft_reply(self, packet);
    else
        weft_done(packet);
}

static enum weft_verdict on_pass(struct weft_self *self, struct weft_packet *packet)
{
    if (weft_identity(packet) & 1)
        weft_set_size(packet, weft_size(packet) / 2);
    if (weft_identity(packet) & 2)
        weft_set_identity(packet, weft_identity(packet) + 1);
    if (weft_identity(packet) & 4)
        weft_set_priority(packet, weft_hops(packet));
    return WEFT_PASS;
}

static const struct weft_service_ops echo_ops = {.deliver = on_deliver, .intercept = on_pass};
static const struct weft_service echo = {
    .version = WEFT_SERVICE_VERSION, .name = "echo", .id = 2, .queue_packets = 8, .ops = &echo_ops};
static const struct weft_service *const services[] = {&echo, NULL};

/* Makes a packet that arrived out of the bytes; `whole` adds the checksums of a proper sender. */
static struct packet *packet_from(struct stage *stage, const uint8_t *bytes, uint32_t size,
                                  bool whole)
{
    struct packet *packet = packet_take(stage->env.pool, size);
    if (!packet)
        return NULL;
    memcpy(packet->bytes, bytes, size);
    if (!whole || size < PACKET_HEADER_SIZE)
        return packet;
    uint32_t payload = size - PACKET_HEADER_SIZE;
    if (payload == HELLO_SIZE)
        memcpy(packet_payload(packet) + LAYOUT_AT, stage->layout, 8);
    struct writer tail = writer_make(packet_payload(packet) + payload - HELLO_TAIL, HELLO_TAIL);
    if (payload > HELLO_TAIL)
        write_u64(&tail, hash_bytes(packet_payload(packet), payload - HELLO_TAIL));
    packet->kind = bytes[1] % 3;
    packet->service = bytes[3] % 4;
    packet->hops_left = bytes[4];
    packet->source = bytes[11] % 5;
    packet->server = bytes[15] % 6;
    packet->identity = bytes[35];
    packet_seal(packet);
    packet->read = false;
    return packet;
}

static void steps(struct stage *stage, struct node *node, struct reader *in)
{
    for (unsigned count = 0; count < COUNT_MAX && in->left; count++) {
        unsigned what = read_u8(in), port = what & 3;
        uint32_t size = what & 4 ? read_u8(in) : PACKET_HEADER_SIZE + HELLO_SIZE;
        if (size > in->left)
            size = (uint32_t)in->left;
        const uint8_t *bytes = read_bytes(in, size);
        if (what & 8)
            node_carrier(node, port, what & 16);
        if (what & 32)
            node_cut(node, port, what & 16);
        if (size && !stage->waiting[port]) {
            stage->waiting[port] = packet_from(stage, bytes, size, what & 64);
            node_input(node, port);
        }
        node_room(node, port);
        stage->env.now += what & 128 ? 300 * 1000 * 1000 : 1000;
        for (unsigned i = 0; i < 50 && node_step(node) <= stage->env.now; i++)
            node_check(node);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct topology topology;
    static struct plan plan;
    if (!plan.server_count)
        assert(!topology_build(&topology, "torus:2x2", NULL) && !plan_init(&plan, &topology, NULL));
    struct stage stage = {.env = {.ops = &ops, .pool = packet_pool_open(256, PACKET_SIZE_MAX)}};
    struct node *node;
    assert(!node_open(&node,
                      &(struct node_config){.plan = &plan,
                                            .env = &stage.env,
                                            .incarnation = 3,
                                            .services = services,
                                            .limbo_packets = 4},
                      NULL));
    stage.env.now = 2 * 1000 * 1000; /* it has sent its hello by then */
    for (unsigned i = 0; i < 3; i++)
        (void)node_step(node);
    struct reader in = reader_make(data, size);
    steps(&stage, node, &in);
    node_close(node);
    for (unsigned port = 0; port < PORTS; port++)
        if (stage.waiting[port])
            packet_done(stage.waiting[port]);
    packet_pool_close(stage.env.pool); /* asserts that all packets were returned */
    return 0;
}
