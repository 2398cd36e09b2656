/* Tests a node's client socket with three programs that send anything, through the socket and
 * through memory that they share, and write anything into that memory. The input is a script of
 * these and of the node's own steps. Requests must be inside what was sent, each known program must
 * be reported gone once, and no descriptor may leak. */
#include "fuzz_line.h"
#include "os/host/client_socket.h"
#include "transport/ring/channel.h"
#include "transport/ring/ring.h"
#include "wire/attach.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_CALL,
    STEP_REQUEST,
    STEP_ATTACH,
    STEP_SCRIBBLE,
    STEP_SAY,
    STEP_LOOK,
    STEP_ANSWER,
    STEP_SLEEP,
    STEP_HANG_UP,
    STEP_COUNT,
};

enum {
    STEPS_MAX = 96,
    PROGRAMS = 3,
    BELLS = 256, /* before the rings, as in channel.c */
    SERVICE = 4,
};

struct program {
    int fd;               /* -1: none */
    struct memfile file;  /* the memory that it shared; base NULL: none */
    struct channel *good; /* of a program that keeps to the rules, or NULL */
};

struct scene {
    struct lock lock;
    struct poller *poller;
    struct fuzz_folder folder;
    struct client_sockets sockets;
    struct client_socket *socket;
    struct program programs[PROGRAMS];
    uint64_t client; /* of the last request */
    bool asked;
    int verdict;  /* the result of a request: 0 or an error */
    bool blocked; /* an answer was refused, and writable() was not called since */
    unsigned gone;
    uint32_t sum; /* keeps the compiler from removing the reads */
};

static int on_request(void *owner, const struct env_answer *from, const void *bytes, uint32_t size)
{
    struct scene *scene = owner;
    assert(size <= ATTACH_MESSAGE_MAX);
    for (uint32_t i = 0; i < size; i++)
        scene->sum += ((const uint8_t *)bytes)[i];
    scene->client = from->client;
    scene->asked = true;
    return scene->verdict;
}

static void on_gone(void *owner, uint64_t client)
{
    struct scene *scene = owner;
    scene->gone++;
    const struct env_answer to = {.client = client};
    assert(client_socket_answer(scene->socket, &to, "late", 4) == -EPIPE);
    scene->blocked &= client != scene->client;
}

static void on_writable(void *owner, uint64_t client, uint16_t service)
{
    struct scene *scene = owner;
    assert(service == SERVICE);
    scene->blocked &= client != scene->client;
}

static int on_number(void *owner, const char *name, size_t size)
{
    assert(size <= ATTACH_NAME_MAX);
    return size ? name[0] : -ENOENT;
}

static void on_attached(void *owner, uint64_t client, int memory)
{
    assert(memory <= 0);
}

static void on_refused(void *owner, int error)
{
    assert(error < 0);
}

static void program_end(struct program *program)
{
    channel_close(program->good);
    program->good = NULL;
    if (program->fd >= 0)
        close(program->fd);
    program->fd = -1;
    memfile_close(&program->file);
}

static void program_call(struct scene *scene, struct program *program)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (program->fd >= 0)
        return;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/node-7.socket", scene->folder.path);
    program->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(program->fd >= 0);
    assert(connect(program->fd, (struct sockaddr *)&address, sizeof address) == 0);
}

static void step_request(struct program *program, struct reader *in)
{
    static uint8_t bytes[ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX + 2];
    unsigned how = read_u8(in);
    size_t size = how & 1 ? sizeof bytes - (how >> 1 & 1) : read_u8(in);
    size_t given = size < in->left ? size : in->left;
    struct fuzz_peer peer = {.fd = program->fd};
    int fd = how & 4 ? fuzz_file(how >> 3) : -1;
    memset(bytes, 0, size);
    read_copy(in, bytes, given);
    fuzz_peer_bytes(&peer, bytes, size, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
}

/* Offers memory of the described shape, of another shape, or none at all. */
static void step_attach(struct program *program, struct reader *in)
{
    unsigned how = read_u8(in);
    struct attach_ask ask = {.slots = 8, .bytes = 32 * 1024};
    struct ring_shape shape = {ask.slots, ask.bytes};
    uint8_t bytes[ATTACH_ASK_SIZE];
    struct fuzz_peer peer = {.fd = program->fd};
    if (how & 1)
        ask.slots = read_u32(in);
    if (how & 2)
        ask.bytes = read_u32(in);
    attach_ask_write(&ask, bytes);
    if (how & 4)
        bytes[read_u8(in) % sizeof bytes] = read_u8(in);
    if (!program->file.base)
        assert(memfile_open(&program->file, "weft-fuzz", BELLS + 2 * ring_size(&shape)) == 0);
    int fd = how & 8 ? fuzz_file(how >> 4) : memfile_share(&program->file, 1);
    assert(fd >= 0);
    fuzz_peer_bytes(&peer, bytes, sizeof bytes, &fd, !(how & 128));
    close(fd);
}

/* A program that keeps to the rules, which the others could harm. */
static void step_say(struct scene *scene, struct program *program, struct reader *in)
{
    uint8_t bytes[256] = {0};
    size_t size = read_u8(in);
    const struct iovec piece = {bytes, size};
    if (!program->good && !program->file.base && channel_open(&program->good, program->fd) == 0) {
        if (channel_offer(program->good)) { /* the node hung up */
            channel_close(program->good);
            program->good = NULL;
            return;
        }
        (void)poller_step(scene->poller, 0);
        channel_agree(program->good);
    }
    if (program->good) {
        const struct attach_head head = {.service = SERVICE, .ticket = size};
        int result = channel_say(program->good, &head, &piece, 1);
        assert(result == 0 || result == -EAGAIN);
    }
}

static void step_scribble(struct program *program, struct reader *in)
{
    size_t at = read_u16(in) * sizeof(uint64_t);
    uint64_t word = read_u64(in);
    if (program->file.base)
        memcpy((uint8_t *)program->file.base + at % program->file.size, &word, sizeof word);
}

static void scene_step(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in);
    struct program *program = &scene->programs[what >> 5 & 3 ? (what >> 5 & 3) - 1 : 0];
    enum step step = (what & 31) % STEP_COUNT;
    if (program->fd < 0 && step < STEP_LOOK)
        step = STEP_CALL;
    switch (step) {
    case STEP_CALL:
        program_call(scene, program);
        break;
    case STEP_REQUEST:
        step_request(program, in);
        break;
    case STEP_ATTACH:
        step_attach(program, in);
        break;
    case STEP_SCRIBBLE:
        step_scribble(program, in);
        break;
    case STEP_SAY:
        step_say(scene, program, in);
        break;
    case STEP_LOOK:
        scene->verdict = what & 128 ? -EPROTO : 0;
        (void)poller_step(scene->poller, 0);
        client_sockets_poll(&scene->sockets);
        break;
    case STEP_ANSWER: {
        uint8_t bytes[300] = {0};
        const struct env_answer to = {scene->client, 1, SERVICE};
        int result =
            scene->asked ? client_socket_answer(scene->socket, &to, bytes, read_u8(in)) : 0;
        assert(result == 0 || result == -EAGAIN || result == -EPIPE);
        scene->blocked |= result == -EAGAIN;
        break;
    }
    case STEP_SLEEP:
        client_sockets_arm(&scene->sockets);
        (void)client_sockets_waiting(&scene->sockets);
        client_sockets_disarm(&scene->sockets);
        break;
    case STEP_HANG_UP:
    case STEP_COUNT:
        program_end(program);
        break;
    }
}

static void scene_open(struct scene *scene)
{
    struct why why = {""};
    *scene = (struct scene){.folder = fuzz_folder_open()};
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    assert(client_sockets_open(&scene->sockets) == 0);
    for (unsigned i = 0; i < PROGRAMS; i++)
        scene->programs[i] = (struct program){.fd = -1, .file.fd = -1};
    const struct client_socket_config config = {
        .folder = scene->folder.path,
        .server = 7,
        .events = {on_request, on_gone, on_writable, on_number, on_attached, on_refused, scene},
    };
    assert(client_socket_open(&scene->socket, &scene->sockets, scene->poller, &config, &why) == 0);
}

static void scene_close(struct scene *scene)
{
    for (unsigned i = 0; i < PROGRAMS; i++)
        program_end(&scene->programs[i]);
    scene->verdict = 0;
    fuzz_settle(scene->poller);
    client_sockets_poll(&scene->sockets);
    assert(list_is_empty(&scene->sockets.channels)); /* those of lost programs are closed */
    assert(list_is_empty(&scene->sockets.resting) && list_is_empty(&scene->sockets.blocked));
    assert(!scene->blocked && !scene->sockets.channel_count && !scene->sockets.count);
    client_socket_close(scene->socket);
    client_sockets_close(&scene->sockets);
    poller_close(scene->poller);
    fuzz_folder_close(&scene->folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene scene;
    struct reader in = reader_make(data, size);
    unsigned before = fuzz_descriptors();
    scene_open(&scene);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    scene_close(&scene);
    assert(fuzz_descriptors() == before);
    return scene.sum == UINT32_MAX ? -1 : 0;
}
