/* Tests the pipes of the udp transport against a peer that sends any datagrams, in order or not,
 * with valid numbers or not, and opens pipes with any parcels. The input is a script of these and
 * of what our side does with its two ends. Both ends keep their invariants (which they assert);
 * frames and acknowledgements come out in the order of their numbers, each once. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz_pipes.h"
#include "transport/datagram/datagram_wire.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PIPES,
    STEP_OFFER,
    STEP_ANSWER,
    STEP_FRAME,
    STEP_RETURN,
    STEP_ASK,
    STEP_BYTES,
    STEP_PROGRESS,
    STEP_COUNT,
};

enum { STEPS_MAX = 128, DESCRIPTION_SIZE = 19, PORT_AT = 17, FAR = 64 };

struct scene {
    struct lock lock;
    struct poller *poller;
    struct transport *transport;
    struct pipes pipes;
    int fd; /* the peer's socket */
    struct sockaddr_in to;
    uint64_t inlet, outlet; /* our numbers of the two pipes, as sent to the peer */
};

static void peer_bytes(const struct scene *scene, const void *bytes, size_t size)
{
    (void)!sendto(scene->fd, bytes, size, MSG_DONTWAIT, (const struct sockaddr *)&scene->to,
                  sizeof scene->to);
}

static void peer_datagram(const struct scene *scene, const struct pipe_datagram *datagram,
                          size_t body_size)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    size_t size = pipe_datagram_write(datagram, bytes, sizeof bytes);
    memset(bytes + size, 7, body_size);
    peer_bytes(scene, bytes, size + body_size);
}

/* A number near zero, or far off. */
static uint64_t number_read(struct reader *in)
{
    uint64_t number = read_u8(in);
    return number < 250 ? number : read_u64(in);
}

/* Makes the parcel of an end, complete or truncated, with valid or invalid windows. */
static void parcel_make(struct parcel *parcel, struct reader *in)
{
    unsigned how = read_u8(in);
    *parcel = (struct parcel){0};
    datagram_end_write(&(struct datagram_end){.pipe = number_read(in), .window = 1 + how % FAR},
                       parcel);
    if (how & 64)
        parcel->size = read_u8(in);
    if (how & 128)
        parcel->bytes[read_u8(in) % 16] = read_u8(in);
}

static void step_offer(struct scene *scene, struct reader *in)
{
    struct parcel offer, answer = {0};
    struct datagram_end end;
    parcel_make(&offer, in);
    if (scene->pipes.inlet)
        return;
    int result = scene->pipes.link->ops->pipes->inlet_open(scene->pipes.link, &scene->pipes.bell,
                                                           &offer, &answer, &scene->pipes.inlet);
    assert(result == 0 || result == -EPROTO);
    if (result)
        return;
    assert(datagram_end_read(&end, &answer) == 0);
    scene->inlet = end.pipe;
}

static void step_answer(struct scene *scene, struct reader *in)
{
    struct parcel answer;
    parcel_make(&answer, in);
    if (!scene->pipes.outlet)
        return;
    int result = scene->pipes.outlet->ops->outlet_answer(scene->pipes.outlet, &answer);
    assert(result == 0 || result == -EPROTO);
}

static void step_frame(struct scene *scene, struct reader *in)
{
    struct pipe_datagram datagram = {.kind = DATAGRAM_FRAME, .pipe = scene->inlet};
    datagram.frame.sequence = number_read(in);
    datagram.frame.confirmed = number_read(in);
    datagram.frame.head.token = datagram.frame.sequence;
    datagram.frame.size = read_u16(in) % (FRAME_BODY_MAX + 1);
    peer_datagram(scene, &datagram, datagram.frame.size);
}

static void step_return(struct scene *scene, struct reader *in)
{
    struct pipe_datagram datagram = {.kind = DATAGRAM_RETURN, .pipe = scene->outlet};
    struct datagram_return *back = &datagram.back;
    back->received = number_read(in);
    back->selected = number_read(in);
    back->released = number_read(in);
    back->first = number_read(in);
    back->count = read_u8(in) % (DATAGRAM_ACKS_MAX + 1);
    for (unsigned i = 0; i < back->count; i++)
        back->acks[i].token = back->first + i;
    peer_datagram(scene, &datagram, 0);
}

static void step_ask(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in);
    struct pipe_datagram datagram = {.kind = DATAGRAM_ASK,
                                     .pipe = what & 2 ? scene->outlet : scene->inlet,
                                     .ask = {.confirmed = number_read(in), .answer = what & 1}};
    peer_datagram(scene, &datagram, 0);
}

static void step_bytes(struct scene *scene, struct reader *in)
{
    size_t size = read_u8(in);
    size = size < in->left ? size : in->left;
    peer_bytes(scene, read_bytes(in, size), size);
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_PIPES: {
        struct datagram_end end;
        pipes_step(&scene->pipes, in);
        if (scene->pipes.outlet && !datagram_end_read(&end, &scene->pipes.offer))
            scene->outlet = end.pipe;
        break;
    }
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
    case STEP_ASK:
        step_ask(scene, in);
        break;
    case STEP_BYTES:
        step_bytes(scene, in);
        break;
    case STEP_PROGRESS:
    case STEP_COUNT:
        while (transport_udp.progress(scene->transport) > 0)
            ;
        (void)poller_step(scene->poller, 0);
        break;
    }
}

/* A frame's token is its number, so the held frames show that they arrived in order, each once. */
static void held_check(const struct scene *scene, uint64_t *next, unsigned before)
{
    for (unsigned i = before; i < scene->pipes.held_count; i++)
        assert(scene->pipes.held[i].head.token == (*next)++);
    assert(scene->pipes.collected <= DATAGRAM_ACKS_MAX * (uint64_t)STEPS_MAX);
}

static void scene_open(struct scene *scene)
{
    struct why why = {""};
    uint8_t description[DESCRIPTION_SIZE];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    struct context_address address = {.context = 9};
    *scene = (struct scene){.to = own};
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    assert(doorbell_open(&scene->pipes.bell) == 0);
    struct transport_config config = {.poller = scene->poller, .address = "127.0.0.1"};
    assert(transport_udp.open(&scene->transport, &config, &why) == 0);
    assert(transport_udp.describe(scene->transport, description, sizeof description) ==
           DESCRIPTION_SIZE);
    memcpy(&scene->to.sin_port, description + PORT_AT, 2);
    scene->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert(scene->fd >= 0 && bind(scene->fd, (struct sockaddr *)&own, sizeof own) == 0);
    assert(getsockname(scene->fd, (struct sockaddr *)&own, &size) == 0);
    memcpy(description + PORT_AT, &own.sin_port, 2);
    assert(transport_udp.link_open(scene->transport, NULL, &address, description,
                                   sizeof description, &scene->pipes.link) == 0);
}

static void scene_close(struct scene *scene)
{
    pipes_close(&scene->pipes);
    transport_udp.link_lost(scene->pipes.link);
    transport_udp.link_close(scene->pipes.link);
    transport_udp.close(scene->transport);
    close(scene->fd);
    doorbell_close(&scene->pipes.bell);
    poller_close(scene->poller);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene scene;
    uint64_t next = 0;
    struct reader in = reader_make(data, size);
    scene_open(&scene);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++) {
        unsigned before = scene.pipes.held_count;
        scene_step(&scene, &in);
        if (!scene.pipes.inlet)
            next = 0;
        else
            held_check(&scene, &next, before);
    }
    scene_close(&scene);
    return scene.pipes.sum == UINT32_MAX ? -1 : 0;
}
