/* Tests the shm transport against a peer that sends anything over the lifeline and writes anything
 * into the shared memory: parcels with descriptors of the wrong kind, size or number, slabs and
 * messages about them, rings. The input is a script of these, and of what our side does with its
 * pipes and with the peer's memory: read, write, map. All accesses stay inside what was mapped, and
 * no descriptor leaks.
 *
 * Memory of key 0 is not tested: the kernel copies it from any address of the peer, which here is
 * this process. */
#include "fuzz_line.h"
#include "fuzz_pipes.h"
#include "transport/ring/ring.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PIPES,
    STEP_OFFER,
    STEP_ANSWER,
    STEP_SCRIBBLE,
    STEP_SAY,
    STEP_MEMORY,
    STEP_MAP,
    STEP_LOST,
    STEP_COUNT,
};

enum { STEPS_MAX = 64, PEER = 9, MAPS = 4, SLOTS = 8, SLAB = CONTROL_TRANSPORT };

struct scene {
    struct lock lock;
    struct poller *poller;
    struct lifelines *lines;
    struct context_address address;
    struct fuzz_folder folder;
    struct fuzz_peer peer;
    struct transport *transport;
    struct lifeline *line; /* up, or NULL */
    struct pipes pipes;
    struct ring_shape shape;
    struct doorbell bell;      /* the peer's bell */
    struct memfile theirs;     /* the ring that the peer offers */
    struct memfile ours;       /* our outlet's ring, as the peer mapped it */
    struct mapping maps[MAPS]; /* the peer's memory, mapped here; base NULL: free */
    size_t sizes[MAPS];
};

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct scene *scene = owner;
    int result =
        transport_shm.link_open(scene->transport, line, peer, card, card_size, &scene->pipes.link);
    assert(result == 0);
    scene->line = line;
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
    const struct scene *scene = owner;
    int result = transport_shm.link_control(scene->pipes.link, control);
    assert(result <= 0 && result > -4096);
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    struct scene *scene = owner;
    scene->line = NULL;
    transport_shm.link_lost(scene->pipes.link);
}

static const struct lifeline_events events = {on_up, on_control, on_down};

static void fds_add(struct parcel *parcel, int fd)
{
    parcel->fds[parcel->fd_count++] = fd;
}

/* Adds the descriptors of a bell or, if the script requires it, others. */
static void bell_add(struct scene *scene, struct parcel *parcel, unsigned how)
{
    int fds[DOORBELL_FD_COUNT];
    if (how & 1) {
        for (unsigned i = 0; i < (how >> 1 & 3); i++)
            fds_add(parcel, fuzz_file(how >> 3));
        return;
    }
    int result = doorbell_share(&scene->bell, fds);
    assert(result == 0);
    for (unsigned i = 0; i < DOORBELL_FD_COUNT; i++)
        fds_add(parcel, fds[i]);
}

static void step_offer(struct scene *scene, struct reader *in)
{
    struct parcel offer = {0}, answer = {0};
    unsigned how = read_u8(in), bells = read_u8(in);
    struct writer out = writer_make(offer.bytes, sizeof offer.bytes);
    if (scene->pipes.inlet)
        return;
    write_u32(&out, how & 1 ? read_u32(in) : scene->shape.slots);
    write_u32(&out, how & 2 ? read_u32(in) : scene->shape.bytes);
    offer.size = (uint16_t)(how & 4 ? read_u8(in) : sizeof offer.bytes - out.left);
    fds_add(&offer, how & 8 ? fuzz_file(how >> 4) : memfile_share(&scene->theirs, 1));
    bell_add(scene, &offer, bells);
    int result = scene->pipes.link->ops->pipes->inlet_open(scene->pipes.link, &scene->pipes.bell,
                                                           &offer, &answer, &scene->pipes.inlet);
    assert(result == 0 || result == -EPROTO || result == -EINVAL);
    assert(result != 0 || answer.fd_count == DOORBELL_FD_COUNT);
    parcel_fini(&offer);
    parcel_fini(&answer);
}

static void step_answer(struct scene *scene, struct reader *in)
{
    struct parcel answer = {0};
    unsigned how = read_u8(in);
    if (!scene->pipes.outlet)
        return;
    bell_add(scene, &answer, how);
    int result = scene->pipes.outlet->ops->outlet_answer(scene->pipes.outlet, &answer);
    assert(result == 0 || result == -EPROTO || result == -EINVAL);
    parcel_fini(&answer);
}

/* Writes a word into one of the two rings. */
static void step_scribble(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in);
    size_t at = read_u16(in) * sizeof(uint64_t);
    uint64_t word = read_u64(in);
    if (what & 1 && !scene->ours.base && scene->pipes.offer.fd_count) {
        int fd = scene->pipes.offer.fds[0];
        scene->pipes.offer.fds[0] = -1;
        int result = memfile_map(&scene->ours, fd, ring_size(&scene->shape), 1);
        assert(result == 0);
    }
    const struct memfile *file = what & 1 ? &scene->ours : &scene->theirs;
    if (file->base)
        memcpy((uint8_t *)file->base + at % file->size, &word, sizeof word);
}

/* Sends a message about one of the peer's slabs: a file and a description of it. */
static void step_say(struct scene *scene, struct reader *in)
{
    unsigned how = read_u8(in), file = read_u8(in), count = how >> 4 & 3;
    uint8_t body[32];
    struct writer out = writer_make(body, sizeof body);
    int fds[3];
    write_u64(&out, read_u8(in) % 8);
    if (!(how & 1)) {
        write_u64(&out, how & 4 ? read_u32(in) : (uint64_t)4096 << (file >> 2) % 8);
        write_u8(&out, how >> 3 & 1);
    }
    if (how & 64)
        write_u8(&out, 0);
    count = how & 1 ? count : count ^ 1; /* one descriptor is correct */
    for (unsigned i = 0; i < count; i++)
        fds[i] = fuzz_file(file);
    fuzz_peer_say(&scene->peer, (uint16_t)(SLAB + (how & 3)), body, sizeof body - out.left, fds,
                  count);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    if (how & 128)
        fuzz_settle(scene->poller);
}

static struct remote_memory memory_read(struct reader *in)
{
    struct remote_memory memory = {.key = 1 + read_u8(in) % 8};
    memory.address = read_u32(in);
    memory.size = read_u32(in);
    if (memory.address >> 31) /* far beyond any slab */
        memory.address <<= 32;
    return memory;
}

static void step_memory(struct scene *scene, struct reader *in)
{
    static uint8_t bytes[4096];
    bool writes = read_u8(in) & 1;
    struct remote_memory memory = memory_read(in);
    uint64_t offset = read_u16(in);
    size_t size = read_u16(in) % (sizeof bytes + 1);
    const struct memory_ops *ops = transport_shm.memory;
    int result = (writes ? ops->write(scene->pipes.link, &memory, offset, bytes, size, NULL, NULL)
                         : ops->read(scene->pipes.link, &memory, offset, bytes, size, NULL, NULL));
    assert(result == 1 || result == -ERANGE || result == -EACCES || result == -EPIPE);
}

static void step_map(struct scene *scene, struct reader *in)
{
    unsigned what = read_u8(in), which = what % MAPS;
    struct mapping *map = &scene->maps[which];
    struct remote_memory memory = memory_read(in);
    if (map->base) {
        for (size_t i = 0; i < scene->sizes[which]; i += 512)
            scene->pipes.sum += ((uint8_t *)map->base)[i];
        transport_shm.memory->unmap(map);
        return;
    }
    int result = transport_shm.memory->map(scene->pipes.link, &memory, what & 128, map);
    assert(result == 0 || result == -ERANGE || result == -EACCES || result == -EPIPE);
    scene->sizes[which] = memory.size;
    if (result)
        map->base = NULL;
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_PIPES:
        pipes_step(&scene->pipes, in);
        if (!scene->pipes.outlet)
            memfile_close(&scene->ours);
        break;
    case STEP_OFFER:
        step_offer(scene, in);
        break;
    case STEP_ANSWER:
        step_answer(scene, in);
        break;
    case STEP_SCRIBBLE:
        step_scribble(scene, in);
        break;
    case STEP_SAY:
        step_say(scene, in);
        break;
    case STEP_MEMORY:
        step_memory(scene, in);
        break;
    case STEP_MAP:
        step_map(scene, in);
        break;
    case STEP_LOST:
    case STEP_COUNT:
        if (read_u8(in) % 4)
            break;
        fuzz_peer_close(&scene->peer);
        fuzz_settle(scene->poller);
        break;
    }
}

static void scene_open(struct scene *scene)
{
    struct why why = {""};
    uint8_t card[32];
    *scene = (struct scene){.folder = fuzz_folder_open(), .ours.fd = -1};
    assert(poller_open(&scene->poller, &scene->lock) == 0);
    assert(doorbell_open(&scene->bell) == 0 && doorbell_open(&scene->pipes.bell) == 0);
    scene->shape = ring_shape_make(SLOTS, 1);
    assert(memfile_open(&scene->theirs, "weft-fuzz", ring_size(&scene->shape)) == 0);
    struct transport_config config = {
        .poller = scene->poller, .ring_slots = SLOTS, .ring_bytes = 1};
    assert(transport_shm.open(&scene->transport, &config, &why) == 0);
    int card_size = transport_shm.describe(scene->transport, card, sizeof card);
    struct lifelines_config lines = {.poller = scene->poller,
                                     .folder = scene->folder.path,
                                     .context = 5,
                                     .card = card,
                                     .card_size = (size_t)card_size,
                                     .events = &events,
                                     .owner = scene};
    assert(lifelines_open(&scene->lines, &lines, &scene->address, &why) == 0);
    scene->peer = fuzz_peer_call(&scene->address, scene->folder.path);
    fuzz_peer_hello(&scene->peer, scene->poller, PEER, card, (size_t)card_size);
    assert(scene->line);
}

static void scene_close(struct scene *scene)
{
    pipes_close(&scene->pipes);
    transport_shm.link_lost(scene->pipes.link);
    transport_shm.link_close(scene->pipes.link);
    for (unsigned i = 0; i < MAPS; i++)
        if (scene->maps[i].base)
            transport_shm.memory->unmap(&scene->maps[i]);
    lifelines_close(scene->lines);
    fuzz_peer_close(&scene->peer);
    transport_shm.close(scene->transport);
    memfile_close(&scene->theirs);
    memfile_close(&scene->ours);
    doorbell_close(&scene->bell);
    doorbell_close(&scene->pipes.bell);
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
    return scene.pipes.sum == UINT32_MAX ? -1 : 0;
}
