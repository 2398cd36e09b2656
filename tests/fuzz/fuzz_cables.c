/* Tests a server's cable. The test plays the neighbour, which connects or accepts, sends any
 * messages of the cable and of the transport, and writes anything into the ring that it offers. The
 * input is a script of these and of what a host does with the port. Packets must be inside their
 * frames, the carrier must alternate between on and off, and no packet and no descriptor may
 * leak. */
#include "fuzz_line.h"
#include "os/cable/cable.h"
#include "transport/ring/ring.h"
#include "transport/transport.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_CALL,
    STEP_OPEN,
    STEP_ANSWER,
    STEP_SAY,
    STEP_FRAME,
    STEP_SCRIBBLE,
    STEP_PORT,
    STEP_SETTLE,
    STEP_HANG_UP,
    STEP_COUNT,
};

/* The message kinds of os/cable/cables.c, and the plan: server 3 port 1 to server 8 port 5. */
enum { CABLE_OPEN = 1, CABLE_ANSWER, STEPS_MAX = 64, SLOTS = 8, PACKETS = 40, HELD = 8 };

/* As ring.c lays it out. */
enum { SLOTS_AT = 128 + 2 * SLOTS * 32, SLOT_SIZE = 128, SLOT_BODY = 32 };

struct scene {
    struct lock lock;
    struct poller *poller;
    struct fuzz_folder folder;
    struct doorbell bell, theirs;
    struct packets *packets;
    struct cables *cables;
    struct port *port;
    struct cable_plan plan; /* ours */
    bool carrier;
    int listen_fd; /* of the neighbour that accepts; or -1 */
    struct fuzz_peer peer;
    struct ring_shape shape;
    struct memfile ring; /* the ring that the neighbour offers */
    uint64_t stamped;    /* number of frames written into it */
    uint8_t card[32];
    size_t card_size;
    struct packet *held[HELD]; /* received, not yet done */
    uint32_t sum;              /* keeps the compiler from removing the reads */
};

static void on_carrier(void *owner, uint32_t server, uint32_t number, bool on)
{
    struct scene *scene = owner;
    assert(server == scene->plan.server && number == scene->plan.number && on != scene->carrier);
    scene->carrier = on;
}

static void on_said(void *owner, uint32_t server, const char *text)
{
    assert(text[0] && !strchr(text, '\n'));
}

/* ---- the neighbour ---- */

static void step_call(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    uint64_t context = scene->plan.peer_server + 1 + (how & 1);
    size_t card_size = how & 2 ? how >> 2 & 3 : scene->card_size;
    struct context_address address = {.context = scene->plan.server + 1};
    if (scene->peer.fd >= 0)
        return;
    if (scene->listen_fd < 0 || how & 128) {
        scene->peer = fuzz_peer_call(&address, scene->folder.path);
        fuzz_peer_hello(&scene->peer, scene->poller, context, scene->card, card_size);
        return;
    }
    cables_call(scene->cables);
    scene->peer = fuzz_peer_answer(scene->listen_fd);
    if (scene->peer.fd < 0)
        return; /* it has another line already */
    while (fuzz_peer_hear(&scene->peer))
        ;
    struct lifeline_hello hello = fuzz_hello(&scene->peer, context, scene->card, card_size);
    fuzz_peer_greet(&scene->peer, &hello);
    fuzz_peer_prove(&scene->peer);
    fuzz_settle(scene->poller);
}

static unsigned fds_bell(const struct scene *scene, int *fds)
{
    int result = doorbell_share(&scene->theirs, fds);
    assert(result == 0);
    return DOORBELL_FD_COUNT;
}

static void peer_say(struct scene *scene, uint16_t kind, const uint8_t *body, size_t size, int *fds,
                     unsigned count)
{
    fuzz_peer_say(&scene->peer, kind, body, size, fds, count);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

static void step_open(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in), count = 0;
    uint8_t body[CONTROL_BODY_MAX];
    int fds[CONTROL_FD_MAX];
    struct writer out = writer_make(body, sizeof body);
    write_u32(&out, scene->plan.peer_server);
    write_u32(&out, how & 1 ? read_u8(in) : scene->plan.peer_number);
    write_u32(&out, how & 2 ? read_u8(in) : scene->plan.server);
    write_u32(&out, scene->plan.number);
    write_u8(&out, (uint8_t)(how & 4 ? read_u8(in) : scene->card_size));
    write_bytes(&out, scene->card, scene->card_size);
    write_u16(&out, how & 8 ? read_u16(in) : 8);
    write_u32(&out, scene->shape.slots);
    write_u32(&out, how & 16 ? read_u32(in) : scene->shape.bytes);
    if (!(how & 32)) {
        fds[count++] = how & 64 ? fuzz_file(how) : memfile_share(&scene->ring, 1);
        count += fds_bell(scene, fds + count);
    }
    size_t size = sizeof body - out.left;
    peer_say(scene, CABLE_OPEN, body, how & 128 ? size - 1 : size, fds, count);
    if (how & 128)
        return;
    fuzz_settle(scene->poller);
}

static void step_answer(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    uint8_t body[2] = {0, how & 1};
    int fds[CONTROL_FD_MAX];
    unsigned count = how & 2 ? 0 : fds_bell(scene, fds);
    peer_say(scene, CABLE_ANSWER, body, sizeof body, fds, count);
    fuzz_settle(scene->poller);
}

static void step_say(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    uint8_t body[64] = {0};
    size_t size = (how & 15) * 4;
    int fd = how & 16 ? fuzz_file(how >> 5) : -1;
    uint16_t kind = read_u8(in) & 1 ? CONTROL_TRANSPORT : read_u16(in);
    read_copy(in, body, size < in->left ? size : 0);
    peer_say(scene, kind, body, size, &fd, fd >= 0);
}

/* Writes the next frame of the ring: packets as their headers describe them, or any bytes. */
static void step_frame(struct scene *scene, struct reader *in)
{
    uint8_t *slot = (uint8_t *)scene->ring.base + SLOTS_AT + scene->stamped % SLOTS * SLOT_SIZE;
    size_t size = read_u8(in) % (SLOT_SIZE - SLOT_BODY + 1);
    size_t given = size < in->left ? size : in->left;
    memset(slot + SLOT_BODY, 0, SLOT_SIZE - SLOT_BODY);
    read_copy(in, slot + SLOT_BODY, given);
    uint64_t stamp = (uint64_t)size << 32 | (uint32_t)++scene->stamped;
    memcpy(slot, &stamp, sizeof stamp);
}

static void step_scribble(struct scene *scene, struct reader *in)
{
    size_t at = read_u16(in) * sizeof(uint64_t);
    uint64_t word = read_u64(in);
    memcpy((uint8_t *)scene->ring.base + at % scene->ring.size, &word, sizeof word);
}

/* ---- the host ---- */

static void port_receive(struct scene *scene)
{
    struct packet *packets[HELD];
    unsigned count = scene->port->ops->receive(scene->port, packets, HELD);
    assert(count <= HELD);
    for (unsigned i = 0; i < count; i++) {
        assert(packets[i]->size <= PACKET_SIZE_MAX);
        for (uint32_t j = 0; j < packets[i]->stored; j++)
            scene->sum += packets[i]->bytes[j];
        if (scene->held[i])
            packet_done(scene->held[i]);
        scene->held[i] = packets[i];
    }
}

static void scene_transmit(struct scene *scene, uint32_t size)
{
    struct packet *packet = packet_take(packets_pool(scene->packets), PACKET_HEADER_SIZE + size);
    if (!packet)
        return;
    packet_seal(packet);
    if (!port_room(scene->port) || !port_transmit(scene->port, &packet, 1, size & 1))
        packet_done(packet);
}

static void step_port(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in), which = what >> 3 & 7;
    const struct port_ops *ops = scene->port->ops;
    if (what & 1)
        (void)ops->poll(scene->port);
    if (what & 2)
        port_receive(scene);
    if (what & 4 && ops->settle)
        ops->settle(scene->port);
    if (what & 64)
        scene_transmit(scene, which * 100);
    if (what & 128 && scene->held[which]) {
        packet_done(scene->held[which]);
        scene->held[which] = NULL;
    }
}

static void scene_step(struct scene *scene, struct reader *in)
{
    enum step step = read_u8(in) % STEP_COUNT;
    if (scene->peer.fd < 0 && step < STEP_FRAME)
        step = STEP_CALL;
    switch (step) {
    case STEP_CALL:
        step_call(scene, in);
        break;
    case STEP_OPEN:
        step_open(scene, in);
        break;
    case STEP_ANSWER:
        step_answer(scene, in);
        break;
    case STEP_SAY:
        step_say(scene, in);
        break;
    case STEP_FRAME:
        step_frame(scene, in);
        break;
    case STEP_SCRIBBLE:
        step_scribble(scene, in);
        break;
    case STEP_PORT:
        step_port(scene, in);
        break;
    case STEP_SETTLE:
        fuzz_settle(scene->poller);
        while (scene->peer.fd >= 0 && fuzz_peer_hear(&scene->peer))
            ;
        break;
    case STEP_HANG_UP:
    case STEP_COUNT:
        if (read_u8(in) & 1)
            fuzz_peer_close(&scene->peer);
        break;
    }
}

static void scene_open(struct scene *scene, bool calls)
{
    static const struct cable_plan plans[] = {{8, 5, 3, 1}, {3, 1, 8, 5}};
    struct why why = {""};
    static const uint8_t card[] = {'s', 'h', 'm', 1}; /* shm's description */
    *scene = (struct scene){.folder = fuzz_folder_open(), .listen_fd = -1, .peer.fd = -1};
    scene->plan = plans[calls];
    scene->card_size = sizeof card;
    memcpy(scene->card, card, sizeof card);
    scene->shape = ring_shape_make(SLOTS, 1);
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    assert(doorbell_open(&scene->bell) == 0 && doorbell_open(&scene->theirs) == 0);
    assert(memfile_open(&scene->ring, "weft-fuzz", ring_size(&scene->shape)) == 0);
    assert(packets_open(&scene->packets, PACKETS, &why) == OK);
    struct cables_config config = {.transport = cables_transport("shm"),
                                   .folder = scene->folder.path,
                                   .poller = scene->poller,
                                   .bell = &scene->bell,
                                   .packets = scene->packets,
                                   .events = {on_carrier, on_said, scene},
                                   .ring_slots = SLOTS,
                                   .ring_bytes = 1};
    assert(cables_open(&scene->cables, &config, &why) == 0);
    assert(cables_listen(scene->cables, scene->plan.server, &why) == 0);
    assert(cables_add(scene->cables, &scene->plan, &scene->port, &why) == 0);
    if (calls)
        scene->listen_fd = fuzz_peer_listen(scene->folder.path, scene->plan.peer_server + 1);
}

static void scene_close(struct scene *scene)
{
    fuzz_peer_close(&scene->peer);
    fuzz_settle(scene->poller);
    for (unsigned i = 0; i < HELD; i++)
        if (scene->held[i])
            packet_done(scene->held[i]);
    scene->port->ops->close(scene->port);
    cables_close(scene->cables);
    packets_close(scene->packets); /* asserts that all packets were returned */
    if (scene->listen_fd >= 0)
        fuzz_peer_unlisten(scene->listen_fd, scene->folder.path, scene->plan.peer_server + 1);
    memfile_close(&scene->ring);
    doorbell_close(&scene->bell);
    doorbell_close(&scene->theirs);
    poller_close(scene->poller);
    fuzz_folder_close(&scene->folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene scene;
    struct reader in = reader_make(data, size);
    unsigned before = fuzz_descriptors();
    scene_open(&scene, read_u8(&in) & 1);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    scene_close(&scene);
    assert(fuzz_descriptors() == before);
    return scene.sum == UINT32_MAX ? -1 : 0;
}
