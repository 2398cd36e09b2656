/* Tests a program that is attached to a node which sends anything: frames in one part and in two,
 * from the peer's program or another, to the pipes and about memory; lines; reports of absent
 * programs and unreachable servers; raw bytes. The input is a script of these and of what the
 * program does: it uses pipes, reads and writes memory of the peer and grants the peer access to
 * its own. All accesses stay inside that memory (separate blocks, for sanitizers), every transfer
 * ends once, and no descriptor leaks. */
#include "fuzz_line.h"
#include "fuzz_pipes.h"
#include "transport/datagram/datagram_wire.h"
#include "transport/routed/routed.h"
#include "transport/routed/stream.h"
#include "transport/wake/thread.h"
#include "wire/attach.h"
#include "wire/relay.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PIPES,
    STEP_OFFER,
    STEP_ANSWER,
    STEP_FRAME,
    STEP_RETURN,
    STEP_WORD,
    STEP_TRANSFER,
    STEP_LINE,
    STEP_NEWS,
    STEP_BYTES,
    STEP_PROGRESS,
    STEP_COUNT,
};

enum { STEPS_MAX = 96, TRANSFERS = 4, REGION = 1024, PART_HEAD = 8, DESCRIPTION_SIZE = 16 };

/* The message kinds of datagram_memory.c. */
enum { MEMORY_READS = 1, MEMORY_DATA, MEMORY_WRITES, MEMORY_WRITES_LAST, MEMORY_DONE };

struct transfer_kept {
    struct transfer transfer;
    uint8_t *bytes; /* a block of its own; NULL: free */
    bool under_way;
};

struct scene {
    struct lock lock;
    struct poller *poller;
    struct fuzz_folder folder;
    char path[64]; /* the node's socket */
    int listen_fd;
    int node_fd; /* to the program; used by the thread until it has ended */
    struct relay_address own, peer, other;
    struct transport *transport;
    struct lifelines *lines;
    struct context_address address;
    struct fuzz_peer peer_line;
    struct lifeline *line;
    struct pipes pipes;
    uint64_t inlet, outlet; /* our numbers of the two pipes, as sent to the peer */
    uint64_t memory_inlet, memory_outlet;
    uint64_t sequence; /* number of the next frame about memory */
    uint32_t number;   /* number of the next datagram of two parts */
    uint8_t *memory;   /* our memory that the peer may access */
    struct region *region;
    struct remote_memory shared[2]; /* read-only, and writable */
    struct transfer_kept transfers[TRANSFERS];
};

/* ---- the node ---- */

static void node_bytes(const struct scene *scene, const void *bytes, size_t size)
{
    (void)!send(scene->node_fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void node_say(const struct scene *scene, const struct relay_message *message)
{
    uint8_t packet[ATTACH_HEAD_SIZE + RELAY_SIZE_MAX], *bytes = packet + ATTACH_HEAD_SIZE;
    attach_head_write(&(struct attach_head){.service = RELAY_SERVICE}, packet);
    relay_write(message, bytes);
    if (message->size)
        memcpy(bytes + RELAY_HEAD_SIZE, message->body, message->size);
    node_bytes(scene, packet, ATTACH_HEAD_SIZE + RELAY_HEAD_SIZE + message->size);
}

/* Refuses memory and assigns an address, for which the program waits when it opens. */
static void *node_run(void *argument)
{
    struct scene *scene = argument;
    uint8_t bytes[ATTACH_HEAD_SIZE + RELAY_SIZE_MAX];
    scene->node_fd = accept4(scene->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    assert(scene->node_fd >= 0);
    assert(recv(scene->node_fd, bytes, sizeof bytes, 0) == ATTACH_ASK_SIZE);
    attach_answer_write(&(struct attach_answer){.version = ATTACH_VERSION, .memory = EOPNOTSUPP},
                        bytes);
    node_bytes(scene, bytes, ATTACH_ANSWER_SIZE);
    assert(recv(scene->node_fd, bytes, sizeof bytes, 0) > ATTACH_HEAD_SIZE);
    node_say(scene, &(struct relay_message){.operation = RELAY_ATTACHED, .to = scene->own});
    return NULL;
}

/* ---- messages of the peer's program ---- */

/* Sends a datagram in one part, in two, or only one of two. */
static void peer_datagram(struct scene *scene, const uint8_t *bytes, size_t size, unsigned how)
{
    unsigned parts = how & 1 ? 2 : 1;
    size_t cut = parts == 1 ? size : size * (how >> 4 & 7) / 7;
    for (unsigned i = 0; i < parts; i++) {
        unsigned part = how & 2 ? parts - 1 - i : i;
        uint8_t body[RELAY_BODY_MAX];
        size_t from = part ? cut : 0, until = part || parts == 1 ? size : cut;
        struct writer out = writer_make(body, sizeof body);
        write_u32(&out, scene->number);
        write_u8(&out, (uint8_t)part);
        write_u8(&out, (uint8_t)parts);
        write_u16(&out, 0);
        write_bytes(&out, bytes + from, until - from);
        if (out.failed || (how & 4 && i))
            continue;
        node_say(scene, &(struct relay_message){.operation = RELAY_DATA,
                                                .kind = RELAY_KIND_FRAME,
                                                .from = how & 8 ? scene->other : scene->peer,
                                                .to = scene->own,
                                                .body = body,
                                                .size = sizeof body - out.left});
    }
    scene->number += !(how & 128);
}

static uint64_t number_read(struct reader *in)
{
    uint64_t number = read_u8(in);
    return number < 250 ? number : read_u64(in);
}

static void step_frame(struct scene *scene, struct reader *in)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    unsigned how = read_u8(in);
    struct pipe_datagram datagram = {.kind = DATAGRAM_FRAME, .pipe = scene->inlet};
    datagram.frame.sequence = number_read(in);
    datagram.frame.confirmed = number_read(in);
    datagram.frame.size = read_u16(in) % (FRAME_BODY_MAX + 1);
    size_t size = pipe_datagram_write(&datagram, bytes, sizeof bytes);
    memset(bytes + size, 7, datagram.frame.size);
    peer_datagram(scene, bytes, size + datagram.frame.size, how);
}

static void step_return(struct scene *scene, struct reader *in)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    unsigned how = read_u8(in);
    struct pipe_datagram datagram = {.kind = DATAGRAM_RETURN,
                                     .pipe = how & 64 ? scene->memory_outlet : scene->outlet};
    datagram.back.received = number_read(in);
    datagram.back.selected = number_read(in);
    datagram.back.released = number_read(in);
    datagram.back.first = number_read(in);
    datagram.back.count = read_u8(in) % (DATAGRAM_ACKS_MAX + 1);
    peer_datagram(scene, bytes, pipe_datagram_write(&datagram, bytes, sizeof bytes), how & ~64u);
}

/* Sends a message about memory, with keys, offsets and sizes that are often valid. */
static void step_word(struct scene *scene, struct reader *in)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    unsigned how = read_u8(in), word = read_u8(in) % 7, which = read_u8(in);
    struct pipe_datagram datagram = {.kind = DATAGRAM_FRAME, .pipe = scene->memory_inlet};
    struct remote_memory memory = scene->shared[which & 1];
    memory.key += which >> 1 & 1;
    datagram.frame.head = (struct frame_head){.kind = (uint16_t)word, .token = read_u8(in)};
    uint64_t offset = number_read(in), size = read_u16(in) % (REGION + 8);
    datagram.frame.sequence = which & 128 ? number_read(in) : scene->sequence++;
    uint8_t body[32 + REGION + 8];
    struct writer out = writer_make(body, sizeof body);
    if (word == MEMORY_READS || word == MEMORY_WRITES || word == MEMORY_WRITES_LAST) {
        write_u64(&out, memory.key);
        write_u64(&out, memory.address + offset);
    }
    if (word == MEMORY_READS)
        write_u64(&out, size);
    else if (word == MEMORY_DATA)
        write_u64(&out, offset);
    else if (word == MEMORY_DONE)
        write_u32(&out, (uint32_t)offset);
    if (word != MEMORY_READS && word != MEMORY_DONE) {
        memset(out.next, 9, size);
        out.left -= size;
    }
    datagram.frame.size = (uint32_t)(sizeof body - out.left);
    if (which & 64 && datagram.frame.size)
        datagram.frame.size--;
    size_t head = pipe_datagram_write(&datagram, bytes, sizeof bytes);
    memcpy(bytes + head, body, datagram.frame.size);
    peer_datagram(scene, bytes, head + datagram.frame.size, how);
}

static void step_line(struct scene *scene, struct reader *in)
{
    uint8_t body[STREAM_HEAD_SIZE + 256];
    unsigned how = read_u8(in);
    struct stream_head head = {.line = 1 + (how & 3), .flags = read_u8(in) & 31};
    head.sequence = read_u8(in);
    head.received = read_u8(in);
    size_t size = read_u8(in);
    size = size < in->left ? size : in->left;
    stream_head_write(&head, body);
    read_copy(in, body + STREAM_HEAD_SIZE, size);
    node_say(scene, &(struct relay_message){.operation = RELAY_DATA,
                                            .kind = RELAY_KIND_LINE,
                                            .from = how & 8 ? scene->other : scene->peer,
                                            .to = scene->own,
                                            .body = body,
                                            .size = STREAM_HEAD_SIZE + size - (how >> 4 & 1)});
}

static void step_bytes(struct scene *scene, struct reader *in)
{
    size_t size = read_u8(in);
    size = size < in->left ? size : in->left;
    if (size)
        node_bytes(scene, read_bytes(in, size), size);
}

/* ---- the program ---- */

static void parcel_make(struct parcel *parcel, struct reader *in)
{
    unsigned how = read_u8(in);
    *parcel = (struct parcel){0};
    datagram_end_write(&(struct datagram_end){.pipe = number_read(in), .window = 1 + how % 64},
                       parcel);
    if (how & 128)
        parcel->size = read_u8(in);
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
    if (!result)
        assert(datagram_end_read(&end, &answer) == 0);
    scene->inlet = result ? 0 : end.pipe;
}

static void step_answer(struct scene *scene, struct reader *in)
{
    struct parcel answer;
    parcel_make(&answer, in);
    if (!scene->pipes.outlet)
        return;
    int result = scene->pipes.outlet->ops->outlet_answer(scene->pipes.outlet, &answer);
    assert(result == 0 || result == -EPROTO || result == -EPIPE);
}

static void step_pipes(struct scene *scene, struct reader *in)
{
    struct datagram_end end;
    pipes_step(&scene->pipes, in);
    if (scene->pipes.outlet && !datagram_end_read(&end, &scene->pipes.offer))
        scene->outlet = end.pipe;
}

static void transfer_done_once(struct transfer *transfer, int status)
{
    struct transfer_kept *kept = container_of(transfer, struct transfer_kept, transfer);
    assert(kept->under_way && status <= 0);
    kept->under_way = false;
}

static void step_transfer(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in);
    struct transfer_kept *kept = &scene->transfers[how % TRANSFERS];
    struct remote_memory memory = {.key = 5, .address = 64, .size = read_u16(in)};
    uint64_t offset = read_u8(in);
    size_t size = read_u16(in);
    const struct memory_ops *ops = transport_routed.memory;
    if (kept->under_way)
        return;
    free(kept->bytes);
    kept->bytes = calloc(1, size ? size : 1);
    kept->transfer = (struct transfer){.done = transfer_done_once};
    kept->under_way = true;
    assert(kept->bytes);
    int result = how & 64 ? ops->write(scene->pipes.link, &memory, offset, kept->bytes, size, NULL,
                                       &kept->transfer)
                          : ops->read(scene->pipes.link, &memory, offset, kept->bytes, size, NULL,
                                      &kept->transfer);
    assert(result == 0 || result == 1 || result == -ERANGE || result == -EPIPE);
    if (result)
        kept->under_way = false;
}

static void step_progress(struct scene *scene)
{
    uint8_t bytes[2 + RELAY_SIZE_MAX];
    for (unsigned i = 0; i < 64 && transport_routed.progress(scene->transport) > 0; i++)
        ;
    (void)poller_step(scene->poller, 0);
    while (recv(scene->node_fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
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
    case STEP_WORD:
        step_word(scene, in);
        break;
    case STEP_TRANSFER:
        step_transfer(scene, in);
        break;
    case STEP_LINE:
        step_line(scene, in);
        break;
    case STEP_NEWS: {
        unsigned what = read_u8(in);
        enum relay_operation operation = RELAY_ATTACHED + what % 5;
        if (operation != RELAY_DATA)
            node_say(scene, &(struct relay_message){.operation = operation,
                                                    .from = what & 64 ? scene->other : scene->peer,
                                                    .to = scene->own});
        break;
    }
    case STEP_BYTES:
        step_bytes(scene, in);
        break;
    case STEP_PROGRESS:
    case STEP_COUNT:
        step_progress(scene);
        break;
    }
}

/* ---- opening and closing ---- */

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct scene *scene = owner;
    if (scene->line)
        return; /* a line through the fabric, caused by the script */
    scene->line = line;
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
}

static const struct lifeline_events events = {on_up, on_control, on_down};

/* The numbers of the pipes, as in datagram_memory.c. */
static uint64_t pipe_number(uint64_t number, const struct relay_address *owner, bool outlet)
{
    uint64_t mixed = number ^ owner->life * 0x9e3779b97f4a7c15ULL ^ (uint64_t)owner->program << 32 ^
                     owner->server;
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ULL + outlet;
    return mixed ? mixed : 1;
}

static void node_open_listening(struct scene *scene)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(scene->path, sizeof scene->path, "%s/node", scene->folder.path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scene->path);
    scene->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert(scene->listen_fd >= 0);
    assert(bind(scene->listen_fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert(listen(scene->listen_fd, 4) == 0);
}

static void link_make(struct scene *scene)
{
    uint8_t description[DESCRIPTION_SIZE];
    struct context_address address = {.context = 9};
    uint64_t number = lifeline_number(scene->line);
    relay_address_write(&scene->peer, description);
    assert(transport_routed.link_open(scene->transport, scene->line, &address, description,
                                      sizeof description, &scene->pipes.link) == 0);
    scene->memory_inlet = pipe_number(number, &scene->own, false);
    scene->memory_outlet = pipe_number(number, &scene->own, true);
    const struct memory_ops *ops = transport_routed.memory;
    scene->memory = calloc(1, REGION);
    assert(scene->memory);
    assert(ops->region_open(scene->transport, scene->memory, REGION, NULL, &scene->region) == 0);
    for (unsigned i = 0; i < 2; i++)
        assert(ops->share(scene->pipes.link, scene->region, scene->memory, REGION,
                          i ? MEMORY_READ | MEMORY_WRITE : MEMORY_READ, &scene->shared[i]) == 0);
}

static void scene_open(struct scene *scene)
{
    struct why why = {""};
    struct thread node = {0};
    *scene = (struct scene){
        .folder = fuzz_folder_open(), .own = {1, 1, 11}, .peer = {2, 1, 22}, .other = {2, 2, 33}};
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    assert(doorbell_open(&scene->pipes.bell) == 0);
    node_open_listening(scene);
    int result = thread_start(&node, "node", node_run, scene);
    assert(result == 0);
    struct transport_config config = {.poller = scene->poller, .node = scene->path};
    result = transport_routed.open(&scene->transport, &config, &why);
    thread_join(&node);
    assert(result == 0);
    struct lifelines_config lines = {.poller = scene->poller,
                                     .attachment = routed_attachment(scene->transport),
                                     .folder = scene->folder.path,
                                     .context = 5,
                                     .card = (const uint8_t *)"card",
                                     .card_size = 4,
                                     .events = &events,
                                     .owner = scene};
    assert(lifelines_open(&scene->lines, &lines, &scene->address, &why) == 0);
    scene->peer_line = fuzz_peer_call(&scene->address, scene->folder.path);
    fuzz_peer_hello(&scene->peer_line, scene->poller, 9, NULL, 0);
    assert(scene->line);
    link_make(scene);
}

static void scene_close(struct scene *scene)
{
    pipes_close(&scene->pipes);
    transport_routed.link_lost(scene->pipes.link);
    for (unsigned i = 0; i < TRANSFERS; i++) {
        assert(!scene->transfers[i].under_way);
        free(scene->transfers[i].bytes);
    }
    transport_routed.link_close(scene->pipes.link);
    transport_routed.memory->region_close(scene->region);
    lifelines_close(scene->lines);
    fuzz_peer_close(&scene->peer_line);
    transport_routed.close(scene->transport);
    close(scene->node_fd);
    close(scene->listen_fd);
    unlink(scene->path);
    doorbell_close(&scene->pipes.bell);
    poller_close(scene->poller);
    free(scene->memory);
    fuzz_folder_close(&scene->folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    struct reader in = reader_make(data, size);
    unsigned before = fuzz_descriptors();
    scene_open(&scene);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    scene_close(&scene);
    assert(fuzz_descriptors() == before);
    return scene.pipes.sum == UINT32_MAX ? -1 : 0;
}
