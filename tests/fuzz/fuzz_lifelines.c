/* Tests a lifeline whose other end sends anything in any order: over a Unix socket or TCP,
 * connecting or accepting, with a secret or without. The input is a script: parts of the hello,
 * whole messages with descriptors, raw bytes (so that messages arrive in pieces), and calls at our
 * own end. Each line that came up or that we connected goes down once, messages after the hello
 * arrive as they were sent, and no descriptor leaks. */
#include "fuzz_line.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_GREET,
    STEP_PROVE,
    STEP_SAY,
    STEP_BYTES,
    STEP_REFUSE,
    STEP_SETTLE,
    STEP_SEND,
    STEP_CUT,
    STEP_CLOSE,
    STEP_COUNT,
};

enum { CALLED = 1, TCP = 2, KEYED = 4, OTHER_KEY = 8 };
enum { STEPS_MAX = 64, OWN = 5, THEIRS = 9 };

static const uint8_t key[LIFELINE_KEY_SIZE] = {42}, other_key[LIFELINE_KEY_SIZE] = {43};

struct scene {
    struct lock lock;
    struct poller *poller;
    struct lifelines *lines;
    struct context_address address;
    struct fuzz_folder folder;
    struct fuzz_peer peer;
    struct lifeline *line; /* up, or NULL */
    int listen_fd;
    unsigned known; /* lines that must go down: one that we connected, and those that came up */
    unsigned downs;
    bool garbled;        /* the peer sent raw bytes */
    uint16_t said, came; /* kinds of the messages after the hello, numbered */
};

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct scene *scene = owner;
    assert(!scene->line && card_size <= LIFELINE_CARD_MAX && peer->context);
    scene->line = line;
    scene->known += lifeline_data(line) == NULL; /* the peer connected to us */
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
    struct scene *scene = owner;
    assert(line == scene->line && control->size <= CONTROL_BODY_MAX);
    assert(control->fd_count <= CONTROL_FD_MAX && (!control->fd_count || lifeline_local(line)));
    for (unsigned i = 0; i < control->fd_count; i++)
        assert(fcntl(control->fds[i], F_GETFD) >= 0);
    if (control->kind >= 256 && !scene->garbled)
        assert(control->kind == 256 + scene->came);
    scene->came += control->kind >= 256;
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    struct scene *scene = owner;
    assert(reason < 0 && reason > -4096);
    scene->downs++;
    scene->line = NULL;
}

static const struct lifeline_events events = {on_up, on_control, on_down};

static void step_greet(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in);
    struct lifeline_hello hello = fuzz_hello(&scene->peer, what & 1 ? THEIRS + 1 : THEIRS, NULL, 0);
    if (what & 2)
        hello.role = HELLO_CONNECTS + HELLO_LISTENS - hello.role;
    if (what & 4)
        hello.keyed = !hello.keyed;
    if (what & 8)
        hello.address.host[0] ^= 1;
    hello.card_size = what & 16 ? LIFELINE_CARD_MAX : what >> 5;
    read_copy(in, hello.challenge, 4);
    fuzz_peer_greet(&scene->peer, &hello);
}

static void step_say(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in), count = what & 15;
    size_t size = read_u16(in) % (CONTROL_BODY_MAX + 1);
    uint8_t body[CONTROL_BODY_MAX] = {0};
    int fds[CONTROL_FD_MAX];
    uint16_t kind = 256 + scene->said;
    size = size < in->left ? size : in->left;
    read_copy(in, body, size);
    count = count > CONTROL_FD_MAX ? 0 : count;
    if (what & 16 || (count && !lifeline_local(scene->line)))
        scene->garbled = true; /* out of order, or descriptors over TCP */
    else
        scene->said++;
    for (unsigned i = 0; i < count; i++)
        fds[i] = fuzz_file(what >> 5);
    fuzz_peer_say(&scene->peer, what & 16 ? read_u16(in) : kind, body, size, fds, count);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

static void step_bytes(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in), count = what & 15;
    size_t size = what >> 4 == 15 ? read_u16(in) : what >> 4;
    int fds[16];
    size = size < in->left ? size : in->left;
    const uint8_t *bytes = read_bytes(in, size);
    scene->garbled = true;
    for (unsigned i = 0; i < count; i++)
        fds[i] = fuzz_file(3);
    fuzz_peer_bytes(&scene->peer, bytes, size, fds, count);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

static void step_send(struct scene *scene, struct reader *in)
{
    struct control control = {.kind = 7, .size = read_u16(in) % (CONTROL_BODY_MAX + 1)};
    control.fd_count = read_u8(in) % 3;
    for (unsigned i = 0; i < control.fd_count; i++)
        control.fds[i] = fuzz_file(0);
    int result = scene->line ? lifeline_send(scene->line, &control) : 0;
    assert(result == 0 || result == -EPIPE || result == -EOPNOTSUPP || result == -ENOBUFS);
    for (unsigned i = 0; i < control.fd_count; i++)
        close(control.fds[i]);
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_GREET:
        step_greet(scene, in);
        break;
    case STEP_PROVE:
        fuzz_peer_prove(&scene->peer);
        break;
    case STEP_SAY:
        if (scene->line)
            step_say(scene, in);
        break;
    case STEP_BYTES:
        step_bytes(scene, in);
        break;
    case STEP_REFUSE: {
        uint8_t reason[2] = {0, read_u8(in)};
        fuzz_peer_say(&scene->peer, HELLO_REFUSAL, reason, sizeof reason, NULL, 0);
        scene->garbled = true;
        break;
    }
    case STEP_SETTLE:
        fuzz_settle(scene->poller);
        while (fuzz_peer_hear(&scene->peer))
            ;
        break;
    case STEP_SEND:
        step_send(scene, in);
        break;
    case STEP_CUT:
        if (scene->line && read_u8(in) & 1)
            lifeline_cut(scene->line, -ECANCELED);
        else if (scene->line)
            (void)lifeline_drain(scene->line);
        break;
    case STEP_CLOSE:
    case STEP_COUNT:
        if (read_u8(in) % 4 == 0)
            shutdown(scene->peer.fd, SHUT_WR);
        break;
    }
}

/* We connect to the peer, which listens. */
static void scene_call(struct scene *scene)
{
    struct lifeline *line;
    struct context_address there = {.context = THEIRS};
    context_address_host(there.host);
    scene->listen_fd = fuzz_peer_listen(scene->folder.path, THEIRS);
    assert(lifeline_connect(scene->lines, &there, &line) == 0);
    lifeline_set_data(line, scene);
    scene->known = 1;
    scene->peer = fuzz_peer_answer(scene->listen_fd);
    assert(scene->peer.fd >= 0 && fuzz_peer_hear(&scene->peer));
}

static void scene_open(struct scene *scene, unsigned how)
{
    struct why why = {""};
    *scene = (struct scene){.folder = fuzz_folder_open(), .listen_fd = -1};
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    struct lifelines_config config = {.poller = scene->poller,
                                      .folder = scene->folder.path,
                                      .address = how & TCP ? "127.0.0.1" : NULL,
                                      .context = OWN,
                                      .card = (const uint8_t *)"card",
                                      .card_size = 4,
                                      .key = how & KEYED ? key : NULL,
                                      .events = &events,
                                      .owner = scene};
    assert(lifelines_open(&scene->lines, &config, &scene->address, &why) == 0);
    if (how & CALLED && !(how & TCP))
        scene_call(scene);
    else
        scene->peer = fuzz_peer_call(&scene->address, how & TCP ? NULL : scene->folder.path);
    scene->peer.key = !(how & KEYED) ? NULL : how & OTHER_KEY ? other_key : key;
}

/* The peer is gone: every line that was known goes down, once. */
static void scene_close(struct scene *scene)
{
    if (scene->listen_fd >= 0) /* else a line that was not up connects again */
        fuzz_peer_unlisten(scene->listen_fd, scene->folder.path, THEIRS);
    fuzz_peer_close(&scene->peer);
    for (unsigned i = 0; i < 1000 && scene->downs < scene->known; i++)
        poller_step(scene->poller, clock_after(1000 * 1000));
    assert(scene->downs == scene->known && !scene->line);
    lifelines_close(scene->lines);
    poller_close(scene->poller);
    fuzz_folder_close(&scene->folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene scene;
    struct reader in = reader_make(data, size);
    unsigned before = fuzz_descriptors();
    scene_open(&scene, read_u8(&in));
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    scene_close(&scene);
    assert(fuzz_descriptors() == before);
    return 0;
}
