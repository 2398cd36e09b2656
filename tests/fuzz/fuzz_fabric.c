/* Tests the pipes of the fabric transport against a peer that sends arbitrary parcels and messages.
 * The input is a list of steps: what the peer sends, and what our side does with its outlet and its
 * inlet. Invalid data breaks the link and nothing else, and a frame never extends beyond its
 * message.
 *
 * The transport is linked to itself, over libfabric's tcp. It is opened only once, because opening
 * is slow. */
#include <errno.h>
#include <stdlib.h>

#include "fuzz_pipes.h"
#include "transport/fabric/fabric_impl.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PIPES,
    STEP_OFFER,
    STEP_ANSWER,
    STEP_FRAME,
    STEP_RETURN,
    STEP_BYTES,
    STEP_PROGRESS,
    STEP_COUNT,
};

enum { STEPS_MAX = 128 };

struct scene {
    struct lock lock;
    struct poller *poller;
    struct transport *transport;
    struct pipes pipes;
    uint64_t inlet, outlet; /* our ids of the two pipes, as sent to the peer */
    uint32_t frames, returns;
};

/* libfabric leaks the memory of a few connections that were never established. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

/* Acts as if the provider had received these bytes. */
static void receive(struct scene *scene, const void *bytes, size_t size)
{
    struct fabric *fabric = container_of(scene->transport, struct fabric, transport);
    struct fabric_buffer *buffer = fabric_buffer_take(fabric);
    assert(buffer && size <= FABRIC_BUFFER_SIZE);
    fabric->receive_count++;
    buffer->state = BUFFER_POSTED;
    if (size)
        memcpy(buffer->bytes, bytes, size);
    fabric_received(fabric, buffer, size);
}

/* Makes an offer or an answer of the peer: the id of its end of the pipe and, in an answer, its
 * window. Some have invalid values, some are too short or too long. */
static void parcel_make(struct parcel *parcel, struct reader *in, bool answer)
{
    unsigned how = read_u8(in);
    struct writer out = writer_make(parcel->bytes, sizeof parcel->bytes);
    parcel->fd_count = 0;
    write_u64(&out, how & 1 ? read_u64(in) : 7);
    if (answer || how & 2)
        write_u32(&out, how & 4 ? read_u32(in) : FABRIC_WINDOW_MIN + (how >> 4));
    parcel->size = (uint16_t)(how & 8 ? read_u8(in) : sizeof parcel->bytes - out.left);
}

static void step_offer(struct scene *scene, struct reader *in)
{
    struct parcel offer = {0}, answer = {0};
    parcel_make(&offer, in, false);
    if (scene->pipes.inlet)
        return;
    int result = scene->pipes.link->ops->pipes->inlet_open(scene->pipes.link, &scene->pipes.bell,
                                                           &offer, &answer, &scene->pipes.inlet);
    assert(result == 0 || result == -EPROTO || result == -EPIPE);
    struct reader told = reader_make(answer.bytes, answer.size);
    scene->inlet = read_u64(&told);
    scene->frames = 0;
}

static void step_answer(struct scene *scene, struct reader *in)
{
    struct parcel answer = {0};
    parcel_make(&answer, in, true);
    if (!scene->pipes.outlet)
        return;
    int result = scene->pipes.outlet->ops->outlet_answer(scene->pipes.outlet, &answer);
    assert(result == 0 || result == -EPROTO);
}

/* Returns the next sequence number of the pipe, or a number near it. */
static uint32_t sequence_make(unsigned how, uint32_t *next)
{
    return how & 1 ? *next + (how >> 4) - 8 : (*next)++;
}

static void step_frame(struct scene *scene, struct reader *in)
{
    uint8_t bytes[FABRIC_BUFFER_SIZE] = {0};
    unsigned how = read_u8(in);
    struct fabric_message message = {.pipe = how & 2 ? scene->outlet : scene->inlet,
                                     .sequence = sequence_make(how, &scene->frames),
                                     .kind = FABRIC_FRAME,
                                     .size = read_u16(in) % (FRAME_BODY_MAX + 1)};
    fabric_message_write(&message, bytes);
    receive(scene, bytes, (size_t)FABRIC_FRAME_SIZE + message.size - (how >> 2 & 1));
}

static void step_return(struct scene *scene, struct reader *in)
{
    uint8_t bytes[FABRIC_BUFFER_SIZE] = {0};
    unsigned how = read_u8(in);
    struct fabric_message message = {.pipe = how & 2 ? scene->inlet : scene->outlet,
                                     .sequence = sequence_make(how, &scene->returns),
                                     .kind = FABRIC_RETURN,
                                     .count = read_u8(in) % (FABRIC_ACKS_MAX + 2),
                                     .credit = how & 4 ? read_u32(in) : read_u8(in) % 4};
    fabric_message_write(&message, bytes);
    receive(scene, bytes, FABRIC_HEADER_SIZE + (size_t)message.count * FABRIC_ACK_SIZE);
}

static void step_pipes(struct scene *scene, struct reader *in)
{
    bool had = scene->pipes.outlet;
    pipes_step(&scene->pipes, in);
    if (!had && scene->pipes.outlet) {
        struct reader told = reader_make(scene->pipes.offer.bytes, scene->pipes.offer.size);
        scene->outlet = read_u64(&told);
        scene->returns = 0;
    }
    /* At most one acknowledgement per frame. */
    assert(scene->pipes.collected <= scene->pipes.pushed);
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_PIPES:
        step_pipes(scene, in);
        break;
    case STEP_OFFER:
        step_offer(scene, in);
        break;
    case STEP_ANSWER:
        step_answer(scene, in);
        break;
    case STEP_FRAME:
        step_frame(scene, in);
        break;
    case STEP_RETURN:
        step_return(scene, in);
        break;
    case STEP_BYTES: {
        size_t size = read_u8(in);
        size = size < in->left ? size : in->left;
        receive(scene, read_bytes(in, size), size);
        break;
    }
    case STEP_PROGRESS:
    case STEP_COUNT:
        (void)transport_fabric.progress(scene->transport);
        break;
    }
}

static void scene_open(struct scene *scene)
{
    uint8_t card[160];
    struct why why = {""};
    struct context_address address = {.context = 9};
    if (!scene->transport) {
        assert(poller_open(&scene->poller, &scene->lock) == 0);
        assert(doorbell_open(&scene->pipes.bell) == 0);
        struct transport_config config = {.poller = scene->poller, .provider = "tcp"};
        assert(transport_fabric.open(&scene->transport, &config, &why) == 0);
    }
    int size = transport_fabric.describe(scene->transport, card, sizeof card);
    assert(size > 0);
    context_address_host(address.host);
    assert(transport_fabric.link_open(scene->transport, NULL, &address, card, (size_t)size,
                                      &scene->pipes.link) == 0);
    scene->inlet = scene->outlet = 0;
    scene->frames = scene->returns = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    struct reader in = reader_make(data, size);
    scene_open(&scene);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    pipes_close(&scene.pipes);
    transport_fabric.link_close(scene.pipes.link);
    (void)transport_fabric.progress(scene.transport);
    return scene.pipes.sum == UINT32_MAX ? -1 : 0;
}
