/* Tests a context with a peer that is let in and then sends anything: a card of any bytes, control
 * messages of all kinds with any fields and descriptors, frames and anything else in the ring that
 * it offers. The input is a script of these and of what a program does with its context meanwhile:
 * it receives, fetches, answers, and has granted memory. Messages must be inside their frames, what
 * the program started must end, and no descriptor may leak.
 *
 * The program sends no long items and writes to no grant: for memory of key 0 the kernel writes at
 * any address of the peer, and here the peer is this process. */
#include <weft/ripc.h>

#include "fuzz_line.h"
#include "ripc/core/control.h"
#include "ripc/message/message.h"
#include "ripc/names/claim.h"
#include "transport/domain.h"
#include "transport/ring/ring.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_OPEN,
    STEP_SAY,
    STEP_RAW,
    STEP_FRAME,
    STEP_SCRIBBLE,
    STEP_RECEIVE,
    STEP_RELEASE,
    STEP_FETCH,
    STEP_SEND,
    STEP_HEAR,
    STEP_HANG_UP,
    STEP_COUNT,
};

enum { STEPS_MAX = 64, OWN = 1, THEIRS = 666, PEER = 9, SLOTS = 8, HELD = 4, MEMORY = 4096 };

/* As ring.c lays it out. */
enum { SLOTS_AT = 128 + 2 * SLOTS * 32, SLOT_SIZE = 128, SLOT_HEAD = 8, SLOT_BODY = 32 };

struct scene {
    struct fuzz_folder folder;
    char domain[DOMAIN_PATH_MAX];
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_grant grant;
    struct ripc_message held[HELD];
    bool holds[HELD];
    uint8_t *memory; /* memory that the peer may access */
    int claim_fd;    /* the peer's claim of its service */
    struct fuzz_peer peer;
    struct ring_shape shape;
    struct memfile ring; /* the ring that the peer offers */
    struct doorbell bell;
    uint64_t stamped;
    uint64_t heard_pipe; /* the last pipe that we were offered */
    uint32_t sum;        /* keeps the compiler from removing the reads */
};

/* ---- the peer ---- */

static void progress(struct scene *scene)
{
    for (unsigned i = 0; i < 8 && ripc_progress(scene->ripc) > 0; i++)
        ;
}

static void words_say(struct scene *scene, struct control_words *words)
{
    struct control control;
    control_write(&control, words);
    fuzz_peer_say(&scene->peer, control.kind, control.body, control.size, control.fds,
                  control.fd_count);
    parcel_fini(&words->parcel);
}

/* Opens a pipe to our service, correctly or nearly so. */
static void step_open(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    struct control_words words = {.kind = CONTROL_OPEN,
                                  .pipe = 1 + (how & 3),
                                  .from = how & 4 ? read_u8(in) : THEIRS,
                                  .to = how & 8 ? read_u8(in) : OWN,
                                  .transport = "shm"};
    struct writer out = writer_make(words.parcel.bytes, sizeof words.parcel.bytes);
    write_u32(&out, scene->shape.slots);
    write_u32(&out, scene->shape.bytes);
    words.parcel.size = (uint16_t)(sizeof words.parcel.bytes - out.left);
    if (how & 16)
        words.transport[read_u8(in) % 15] = (char)read_u8(in);
    words.parcel.fds[0] = how & 32 ? fuzz_file(how >> 6) : memfile_share(&scene->ring, 1);
    assert(doorbell_share(&scene->bell, &words.parcel.fds[1]) == 0);
    words.parcel.fd_count = 1 + DOORBELL_FD_COUNT;
    words_say(scene, &words);
    progress(scene);
}

static void step_say(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    struct control_words words = {.kind = 1 + read_u8(in) % (CONTROL_KIND_END - 1)};
    words.pipe = how & 1 ? scene->heard_pipe : read_u8(in) % 6;
    words.from = how & 2 ? THEIRS : read_u8(in);
    words.to = OWN;
    words.number = how & 4 ? scene->grant.key : read_u8(in);
    words.item = read_u8(in) % 4;
    words.rights = read_u8(in) % 4;
    words.status = -(int32_t)(how & 8 ? 0 : read_u8(in));
    memcpy(words.transport, "shm", 4);
    words.memory = (struct remote_memory){read_u8(in) % 4, read_u16(in), read_u16(in)};
    words.parcel.size = how >> 4 & 3;
    if (how & 64 && doorbell_share(&scene->bell, words.parcel.fds) == 0)
        words.parcel.fd_count = DOORBELL_FD_COUNT;
    words_say(scene, &words);
    if (how & 128)
        progress(scene);
}

static void step_raw(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    uint8_t body[64] = {0};
    size_t size = (how & 15) * 4;
    int fd = how & 16 ? fuzz_file(how >> 5) : -1;
    uint16_t kind = (uint16_t)((read_u8(in) & 1 ? CONTROL_TRANSPORT : 0) + read_u8(in) % 4);
    read_copy(in, body, size < in->left ? size : 0);
    fuzz_peer_say(&scene->peer, kind, body, size, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
}

/* Writes the next frame of the ring: a message or a notification of any shape. */
static void step_frame(struct scene *scene, struct reader *in)
{
    uint8_t *slot = (uint8_t *)scene->ring.base + SLOTS_AT + scene->stamped % SLOTS * SLOT_SIZE;
    struct message_head head = {.kind = read_u8(in) % 4, .token = read_u8(in)};
    size_t size = read_u8(in) % (SLOT_SIZE - SLOT_BODY + 1);
    head.short_count = read_u8(in) % 5;
    head.long_count = read_u8(in) % 4;
    head.return_count = read_u8(in) % 4;
    struct frame_head frame = message_head_write(&head);
    memcpy(slot + SLOT_HEAD, &frame, sizeof frame);
    memset(slot + SLOT_BODY, 0, SLOT_SIZE - SLOT_BODY);
    read_copy(in, slot + SLOT_BODY, size < in->left ? size : in->left);
    uint64_t stamp = (uint64_t)size << 32 | (uint32_t)++scene->stamped;
    memcpy(slot, &stamp, sizeof stamp);
}

static void step_scribble(struct scene *scene, struct reader *in)
{
    size_t at = read_u16(in) * sizeof(uint64_t);
    uint64_t word = read_u64(in);
    memcpy((uint8_t *)scene->ring.base + at % scene->ring.size, &word, sizeof word);
}

static void step_hear(struct scene *scene)
{
    struct reader in;
    while (fuzz_peer_hear(&scene->peer))
        if (scene->peer.heard.kind == CONTROL_OPEN) {
            in = reader_make(scene->peer.body, scene->peer.heard.size);
            scene->heard_pipe = read_u64(&in);
        }
}

/* ---- the program ---- */

static void step_receive(struct scene *scene)
{
    struct ripc_message message;
    unsigned at = 0;
    while (at < HELD && scene->holds[at])
        at++;
    if (at == HELD)
        return;
    int count = ripc_receive(scene->service, &message, 1, RIPC_NOW);
    assert(count == 1 || count == -EAGAIN);
    if (count != 1)
        return;
    for (unsigned i = 0; i < message.short_count; i++) {
        size_t size;
        const uint8_t *bytes = ripc_short(&message, i, &size);
        for (size_t j = 0; j < size; j++)
            scene->sum += bytes[j];
    }
    scene->held[at] = message;
    scene->holds[at] = true;
}

static void step_fetch(struct scene *scene, struct reader *in)
{
    static uint8_t bytes[MEMORY];
    unsigned what = read_u8(in), at = what % HELD, index = what >> 2 & 3;
    if (!scene->holds[at] || index >= scene->held[at].long_count)
        return;
    struct ripc_message *message = &scene->held[at];
    int result = what & 16 ? ripc_reject(message, index)
                           : ripc_fetch(message, index, bytes, sizeof bytes, RIPC_NOW);
    assert(result <= 0 && result > -4096);
}

static void step_send(struct scene *scene, struct reader *in)
{
    static uint8_t bytes[MEMORY];
    int result = ripc_send(scene->service, THEIRS, bytes, read_u8(in) * 10, RIPC_NOW);
    assert(result <= 0 && result > -4096);
    struct ripc_event events[8];
    result = ripc_poll(scene->service, events, 8, RIPC_NOW);
    assert(result <= 8);
}

static void release(struct scene *scene, unsigned at)
{
    if (scene->holds[at])
        ripc_release(&scene->held[at]);
    scene->holds[at] = false;
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_OPEN:
        step_open(scene, in);
        break;
    case STEP_SAY:
        step_say(scene, in);
        break;
    case STEP_RAW:
        step_raw(scene, in);
        break;
    case STEP_FRAME:
        step_frame(scene, in);
        break;
    case STEP_SCRIBBLE:
        step_scribble(scene, in);
        break;
    case STEP_RECEIVE:
        progress(scene);
        step_receive(scene);
        break;
    case STEP_RELEASE:
        release(scene, read_u8(in) % HELD);
        break;
    case STEP_FETCH:
        step_fetch(scene, in);
        break;
    case STEP_SEND:
        step_send(scene, in);
        break;
    case STEP_HEAR:
        progress(scene);
        step_hear(scene);
        break;
    case STEP_HANG_UP:
    case STEP_COUNT:
        if (read_u8(in) % 4)
            break;
        shutdown(scene->peer.fd, SHUT_RDWR);
        progress(scene);
        break;
    }
}

/* ---- opening and closing ---- */

/* The number of the only context in the domain. */
static uint64_t context_find(const char *folder)
{
    unsigned long long context = 0;
    DIR *entries = opendir(folder);
    assert(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        (void)sscanf(entry->d_name, "socket.%llx", &context);
    closedir(entries);
    assert(context);
    return context;
}

/* Claims the peer's service, so that messages can be sent to it. */
static int claim_make(const char *folder)
{
    struct claim claim = {
        .id = THEIRS, .incarnation = 1, .member = THEIRS, .address.context = PEER};
    struct seal seal;
    char name[CLAIM_NAME_SIZE];
    uint8_t record[CLAIM_RECORD_SIZE];
    context_address_host(claim.address.host);
    assert(seal_init(&seal, NULL) == 0);
    claim_record_write(&claim, &seal, record);
    claim_name_write(name, THEIRS, THEIRS);
    int fd = domain_file_lock(folder, name);
    assert(fd >= 0 && pwrite(fd, record, sizeof record, 0) == sizeof record);
    return fd;
}

static void scene_open(struct scene *scene, const uint8_t *card, size_t card_size)
{
    static char variable[64]; /* part of the environment from here on */
    *scene = (struct scene){.folder = fuzz_folder_open()};
    snprintf(variable, sizeof variable, "WEFT_FOLDER=%s", scene->folder.path);
    assert(putenv(variable) == 0);
    char reason[RIPC_REASON_MAX] = "";
    const struct ripc_config config = {.domain = "fuzz",
                                       .names = "host",
                                       .transports = "shm",
                                       .flags = RIPC_MANUAL,
                                       .ring_slots = SLOTS,
                                       .ring_bytes = 64 * 1024,
                                       .reason = reason};
    int result = ripc_open(&config, &scene->ripc);
    if (result)
        fprintf(stderr, "%s\n", reason);
    assert(result == 0);
    snprintf(scene->domain, sizeof scene->domain, "%s/fuzz", scene->folder.path);
    assert(ripc_bind(scene->ripc, OWN, 0, &scene->service) == 0);
    scene->memory = ripc_alloc(scene->ripc, MEMORY);
    assert(scene->memory);
    assert(ripc_grant(scene->service, THEIRS, scene->memory, MEMORY, RIPC_READ, &scene->grant) ==
           0);
    scene->claim_fd = claim_make(scene->domain);
    scene->shape = ring_shape_make(SLOTS, 1);
    assert(memfile_open(&scene->ring, "weft-fuzz", ring_size(&scene->shape)) == 0);
    assert(doorbell_open(&scene->bell) == 0);
    struct context_address address = {.context = context_find(scene->domain)};
    scene->peer = fuzz_peer_call(&address, scene->domain);
    struct lifeline_hello hello = fuzz_hello(&scene->peer, PEER, card, card_size);
    fuzz_peer_greet(&scene->peer, &hello);
    progress(scene);
    step_hear(scene);
    fuzz_peer_prove(&scene->peer);
    progress(scene);
}

static void scene_close(struct scene *scene)
{
    char path[DOMAIN_PATH_MAX + CLAIM_NAME_SIZE], name[CLAIM_NAME_SIZE];
    for (unsigned i = 0; i < HELD; i++)
        release(scene, i);
    fuzz_peer_close(&scene->peer);
    progress(scene);
    (void)ripc_close(scene->ripc, RIPC_NOW);
    claim_name_write(name, THEIRS, THEIRS);
    snprintf(path, sizeof path, "%s/%s", scene->domain, name);
    unlink(path);
    close(scene->claim_fd);
    (void)rmdir(scene->domain);
    memfile_close(&scene->ring);
    doorbell_close(&scene->bell);
    fuzz_folder_close(&scene->folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t good[] = {3, 's', 'h', 'm', 4, 's', 'h', 'm', 1};
    struct scene scene;
    struct reader in = reader_make(data, size);
    size_t card_size = read_u8(&in);
    card_size = card_size < in.left ? card_size : in.left;
    const uint8_t *card = read_bytes(&in, card_size);
    unsigned before = fuzz_descriptors();
    scene_open(&scene, card_size ? card : good, card_size ? card_size : sizeof good);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    scene_close(&scene);
    assert(fuzz_descriptors() == before);
    return scene.sum == UINT32_MAX ? -1 : 0;
}
