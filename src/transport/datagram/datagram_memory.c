/* datagram_memory: reads and writes the memory of a process that only datagrams reach.
 *
 * Each link has its own pipe in either direction, of the same kind as those of services, so
 * messages arrive in order, once, and not faster than the receiver takes them:
 *
 *   READ   reader -> owner   key, offset, size
 *   DATA   owner -> reader   offset, bytes, until all are there
 *   WRITE  writer -> owner   key, offset, bytes; the last piece is marked
 *   DONE   owner -> other    a status: of a write, or why there is no data
 *
 * Requests are sent one after the other and carried out in that order, so writes are placed in the
 * order in which they were started. The owner's processor does all accesses, and the transport
 * looks up the region for each piece, so revoked memory is out of reach at once.
 *
 * The numbers of the two pipes follow from the lifeline's number and a number for each of its ends,
 * so they need not be exchanged. The pipes are opened when memory is shared with the peer or
 * accessed for the first time. What arrives before the peer has opened them is sent again. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum {
    PIECE_MAX = 8192,
    HEAD_MAX = 24,
    SERVED_MAX = 64, /* jobs of a peer at once; further ones stay in the pipe */
    RIGHTS = 4,
};

enum memory_word { MEMORY_READS = 1, MEMORY_DATA, MEMORY_WRITES, MEMORY_WRITES_LAST, MEMORY_DONE };

struct memory_region {
    struct region region;
    struct datagram_core *core;
    struct list node;
    uint8_t *base;
    size_t size;
    uint64_t keys[RIGHTS]; /* by rights; 0: not shared with these */
};

/* A message to be sent: a transfer of ours, or an answer to the peer. */
struct job {
    struct list node;
    uint64_t number;
    enum memory_word word;
    struct transfer *transfer;    /* for our own job */
    struct memory_region *region; /* for an answer with data: its source */
    struct remote_memory memory;  /* for our own job: the peer's memory; address is an offset */
    uint8_t *local;
    size_t size;
    size_t done; /* bytes sent or received so far */
    int status;
};

static struct memory_region *region_of(struct region *region)
{
    return container_of(region, struct memory_region, region);
}

/* ---- the link's two pipes ---- */

/* The number of one of the four pipe ends; both sides compute the same. */
static uint64_t pipe_number(const struct datagram_memory_link *memory, uint64_t owner, bool outlet)
{
    uint64_t mixed = memory->number ^ owner;
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ULL + outlet;
    return mixed ? mixed : 1;
}

int datagram_memory_ready(struct datagram_link *link)
{
    struct datagram_memory_link *memory = &link->memory;
    struct doorbell *bell = &link->core->memory.bell;
    struct datagram_numbers out = {pipe_number(memory, memory->own, true),
                                   pipe_number(memory, memory->peer, false)};
    struct datagram_numbers in = {pipe_number(memory, memory->own, false),
                                  pipe_number(memory, memory->peer, true)};
    if (memory->outlet)
        return 0;
    int result = datagram_outlet_open_numbered(&link->link, bell, &out, &memory->outlet);
    if (result)
        return result;
    result = datagram_inlet_open_numbered(&link->link, bell, &in, &memory->inlet);
    if (result) {
        datagram_outlet_close(memory->outlet);
        memory->outlet = NULL;
    }
    return result;
}

void datagram_memory_link_open(struct datagram_link *link, uint64_t number, uint64_t own,
                               uint64_t peer)
{
    struct datagram_memory_link *memory = &link->memory;
    *memory = (struct datagram_memory_link){.number = number, .own = own, .peer = peer};
    list_init(&memory->asked);
    list_init(&memory->waits);
    list_init(&memory->served);
    list_append(&link->core->memory.links, &memory->node);
}

/* ---- regions ---- */

static int region_open(struct transport *transport, void *base, size_t size,
                       const struct memfile *file, struct region **out)
{
    struct datagram_core *core = container_of(transport, struct datagram_core, transport);
    struct memory_region *region = array_new(1, sizeof *region);
    if (!region)
        return -ENOMEM;
    region->region.ops = &datagram_memory_ops;
    region->core = core;
    region->base = base;
    region->size = size;
    list_append(&core->memory.regions, &region->node);
    *out = &region->region;
    return 0;
}

/* Peers that still wait for bytes of the region get an error instead. */
static void region_close(struct region *base)
{
    struct memory_region *region = region_of(base);
    for (unsigned i = 0; i < RIGHTS; i++)
        if (region->keys[i])
            id_map_take(&region->core->memory.keys, region->keys[i]);
    list_each(&region->core->memory.links, node)
    {
        struct datagram_memory_link *link = container_of(node, struct datagram_memory_link, node);
        list_each(&link->served, other)
        {
            struct job *job = container_of(other, struct job, node);
            if (job->region != region)
                continue;
            job->region = NULL;
            job->word = MEMORY_DONE;
            job->status = -EACCES;
        }
    }
    list_remove(&region->node);
    free(region);
}

static int memory_share(struct transport_link *base, struct region *of, void *piece, size_t size,
                        uint32_t rights, struct remote_memory *out)
{
    struct memory_region *region = region_of(of);
    uint8_t *at = piece;
    assert(rights < RIGHTS && at >= region->base && at + size <= region->base + region->size);
    int result = datagram_memory_ready(container_of(base, struct datagram_link, link));
    if (result)
        return result;
    if (!region->keys[rights]) {
        uint64_t key;
        do
            key = entropy_u64();
        while (id_map_get(&region->core->memory.keys, key));
        if (!id_map_put(&region->core->memory.keys, key, region))
            return -ENOMEM;
        region->keys[rights] = key;
    }
    *out = (struct remote_memory){
        .key = region->keys[rights], .address = (uint64_t)(at - region->base), .size = size};
    return 0;
}

/* The memory that a peer may access with that key and right; NULL: none. */
static struct memory_region *region_find(struct datagram_core *core, uint64_t key, uint64_t offset,
                                         uint64_t size, uint32_t right)
{
    struct memory_region *region = id_map_get(&core->memory.keys, key);
    if (!region || offset > region->size || size > region->size - offset)
        return NULL;
    for (uint32_t rights = 0; rights < RIGHTS; rights++)
        if (region->keys[rights] == key)
            return rights & right ? region : NULL;
    return NULL;
}

/* ---- sending ---- */

/* Sends one frame; false: there is no room now. */
static bool frame_say(struct datagram_link *link, enum memory_word word, uint64_t number,
                      const uint8_t *head, size_t head_size, const uint8_t *bytes, size_t size)
{
    struct frame_head frame = {.kind = (uint16_t)word, .token = number};
    struct iovec pieces[2] = {{(void *)(uintptr_t)head, head_size},
                              {(void *)(uintptr_t)bytes, size}};
    return datagram_push(link->memory.outlet, &frame, pieces, size ? 2 : 1) == 0;
}

static size_t piece_size(const struct job *job)
{
    size_t left = job->size - job->done;
    return left < PIECE_MAX ? left : PIECE_MAX;
}

static bool read_say(struct datagram_link *link, struct job *job)
{
    uint8_t head[HEAD_MAX];
    struct writer out = writer_make(head, sizeof head);
    write_u64(&out, job->memory.key);
    write_u64(&out, job->memory.address);
    write_u64(&out, job->size);
    return frame_say(link, MEMORY_READS, job->number, head, sizeof head, NULL, 0);
}

/* Sends all pieces; false: there was not enough room. */
static bool write_say(struct datagram_link *link, struct job *job)
{
    while (job->done < job->size) {
        uint8_t head[16];
        struct writer out = writer_make(head, sizeof head);
        size_t size = piece_size(job);
        bool last = job->done + size == job->size;
        write_u64(&out, job->memory.key);
        write_u64(&out, job->memory.address + job->done);
        if (!frame_say(link, last ? MEMORY_WRITES_LAST : MEMORY_WRITES, job->number, head,
                       sizeof head, job->local + job->done, size))
            return false;
        job->done += size;
    }
    return true;
}

static bool data_say(struct datagram_link *link, struct job *job)
{
    while (job->done < job->size) {
        uint8_t head[8];
        struct writer out = writer_make(head, sizeof head);
        size_t size = piece_size(job);
        write_u64(&out, job->done);
        if (!frame_say(link, MEMORY_DATA, job->number, head, sizeof head, job->local + job->done,
                       size))
            return false;
        job->done += size;
    }
    return true;
}

static bool done_say(struct datagram_link *link, struct job *job)
{
    uint8_t head[4];
    struct writer out = writer_make(head, sizeof head);
    write_u32(&out, (uint32_t)-job->status);
    return frame_say(link, MEMORY_DONE, job->number, head, sizeof head, NULL, 0);
}

/* Answers go first, because their receivers have waited longer. */
static void link_say(struct datagram_link *link)
{
    while (!list_is_empty(&link->memory.served)) {
        struct job *job = container_of(link->memory.served.next, struct job, node);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed job has left the list */
        if (!(job->word == MEMORY_DATA ? data_say(link, job) : done_say(link, job)))
            return;
        list_remove(&job->node);
        link->memory.served_count--;
        free(job);
    }
    while (!list_is_empty(&link->memory.asked)) {
        struct job *job = container_of(link->memory.asked.next, struct job, node);
        if (!(job->word == MEMORY_READS ? read_say(link, job) : write_say(link, job)))
            return;
        list_remove(&job->node);
        list_append(&link->memory.waits, &job->node);
    }
}

/* ---- a peer's requests ---- */

static bool answer_add(struct datagram_link *link, const struct job *answer)
{
    struct job *job = array_new(1, sizeof *job);
    if (!job)
        return false;
    *job = *answer;
    list_append(&link->memory.served, &job->node);
    link->memory.served_count++;
    return true;
}

static bool read_heard(struct datagram_link *link, uint64_t number, struct reader *in)
{
    struct datagram_core *core = link->core;
    uint64_t key = read_u64(in), offset = read_u64(in), size = read_u64(in);
    if (in->failed || in->left)
        return false;
    struct memory_region *region = region_find(core, key, offset, size, MEMORY_READ);
    struct job answer = {.number = number, .word = MEMORY_DONE, .status = -EACCES};
    if (region)
        answer = (struct job){.number = number,
                              .word = MEMORY_DATA,
                              .region = region,
                              .local = region->base + offset,
                              .size = (size_t)size};
    return answer_add(link, &answer);
}

/* Rings the bells of the threads that wait for what peers write. */
static void bells_ring(struct list *bells)
{
    if (!bells)
        return;
    list_each(bells, node) doorbell_ring(container_of(node, struct doorbell, polled));
}

/* Places bytes that a peer wrote. Threads of the program may read the memory meanwhile, by words
 * (sst/table/row.h): each aligned word is stored at once. The fence orders what was placed before
 * this call before what it places, for threads that load with acquire: data before its guard. */
static void bytes_place(uint8_t *to, const uint8_t *from, size_t size)
{
    atomic_thread_fence(memory_order_release);
    for (size_t step; size; to += step, from += step, size -= step) {
        uint64_t word;
        step = (uintptr_t)to % sizeof word == 0 && size >= sizeof word ? sizeof word : 1;
        if (step == 1) {
            atomic_store_explicit((_Atomic uint8_t *)to, *from, memory_order_relaxed);
            continue;
        }
        memcpy(&word, from, sizeof word);
        atomic_store_explicit((_Atomic uint64_t *)(void *)to, word, memory_order_relaxed);
    }
}

/* A piece that may not be written is skipped. The last piece then finds the same region missing,
 * and the write fails. */
static bool write_heard(struct datagram_link *link, uint64_t number, bool last, struct reader *in)
{
    struct datagram_core *core = link->core;
    uint64_t key = read_u64(in), offset = read_u64(in);
    if (in->failed)
        return false;
    struct memory_region *region = region_find(core, key, offset, in->left, MEMORY_WRITE);
    if (region && in->left)
        bytes_place(region->base + offset, in->next, in->left);
    if (!last)
        return true;
    bells_ring(core->transport.bells);
    return answer_add(
        link, &(struct job){.number = number, .word = MEMORY_DONE, .status = region ? 0 : -EACCES});
}

/* ---- answers to our requests ---- */

static struct job *job_find(const struct datagram_link *link, uint64_t number)
{
    list_each(&link->memory.waits, node)
    {
        struct job *job = container_of(node, struct job, node);
        if (job->number == number)
            return job;
    }
    return NULL;
}

static void job_end(struct job *job, int status)
{
    struct transfer *transfer = job->transfer;
    list_remove(&job->node);
    free(job);
    transfer->done(transfer, status);
}

static bool data_heard(struct datagram_link *link, uint64_t number, struct reader *in)
{
    struct job *job = job_find(link, number);
    uint64_t offset = read_u64(in);
    if (in->failed || !job || job->word != MEMORY_READS || offset != job->done || !in->left ||
        in->left > job->size - job->done)
        return false;
    memcpy(job->local + job->done, in->next, in->left);
    job->done += in->left;
    if (job->done == job->size)
        job_end(job, 0);
    return true;
}

static bool done_heard(struct datagram_link *link, uint64_t number, struct reader *in)
{
    struct job *job = job_find(link, number);
    uint32_t status = read_u32(in);
    bool known = status == 0 || status == EACCES;
    if (in->failed || in->left || !job || !known || (job->word == MEMORY_READS && !status))
        return false;
    job_end(job, -(int)status);
    return true;
}

static bool frame_heard(struct datagram_link *link, const struct frame *frame)
{
    struct reader in = reader_make(frame->body, frame->size);
    switch (frame->head.kind) {
    case MEMORY_READS:
        return read_heard(link, frame->head.token, &in);
    case MEMORY_DATA:
        return data_heard(link, frame->head.token, &in);
    case MEMORY_WRITES:
    case MEMORY_WRITES_LAST:
        return write_heard(link, frame->head.token, frame->head.kind == MEMORY_WRITES_LAST, &in);
    case MEMORY_DONE:
        return done_heard(link, frame->head.token, &in);
    default:
        return false;
    }
}

void datagram_memory_work(struct datagram_link *link)
{
    struct frame frame;
    if (link->memory.working || !link->memory.outlet)
        return; /* a caller further up the stack continues */
    link->memory.working = true;
    do {
        while (!link->lost && link->memory.served_count < SERVED_MAX &&
               datagram_pull(link->memory.inlet, &frame, 1) == 1) {
            if (!frame_heard(link, &frame))
                link->core->counts.garbage++;
            datagram_release(link->memory.inlet, &frame);
        }
        if (!link->lost)
            link_say(link);
    } while (!link->lost && link->memory.served_count == 0 && datagram_waits(link->memory.inlet));
    link->memory.working = false;
}

/* ---- transfers ---- */

static int job_start(struct transport_link *base, enum memory_word word,
                     const struct remote_memory *memory, uint64_t offset, void *local, size_t size,
                     struct transfer *transfer)
{
    struct datagram_link *link = container_of(base, struct datagram_link, link);
    if (link->lost)
        return -EPIPE;
    if (offset > memory->size || size > memory->size - offset)
        return -ERANGE;
    if (size == 0)
        return 1;
    int result = datagram_memory_ready(link);
    if (result)
        return result;
    struct job *job = array_new(1, sizeof *job);
    if (!job)
        return -EAGAIN;
    *job = (struct job){.number = ++link->memory.last,
                        .word = word,
                        .transfer = transfer,
                        .memory = *memory,
                        .local = local,
                        .size = size};
    job->memory.address += offset;
    list_append(&link->memory.asked, &job->node);
    if (!link->memory.working)
        link_say(link);
    return 0;
}

static int memory_read(struct transport_link *link, const struct remote_memory *from,
                       uint64_t offset, void *to, size_t size, struct region *region,
                       struct transfer *transfer)
{
    return job_start(link, MEMORY_READS, from, offset, to, size, transfer);
}

static int memory_write(struct transport_link *link, const struct remote_memory *to,
                        uint64_t offset, const void *from, size_t size, struct region *region,
                        struct transfer *transfer)
{
    return job_start(link, MEMORY_WRITES, to, offset, (void *)(uintptr_t)from, size, transfer);
}

static void jobs_fail(struct list *jobs)
{
    struct list *node;
    while ((node = list_take(jobs)))
        job_end(container_of(node, struct job, node), -EPIPE);
}

static void link_lost(struct datagram_link *link)
{
    struct list *node;
    link->lost = true;
    jobs_fail(&link->memory.waits);
    jobs_fail(&link->memory.asked);
    while ((node = list_take(&link->memory.served)))
        free(container_of(node, struct job, node));
    link->memory.served_count = 0;
}

void datagram_memory_link_lost(struct transport_link *base)
{
    datagram_link_lost(base);
    link_lost(container_of(base, struct datagram_link, link));
}

void datagram_memory_link_close(struct datagram_link *link)
{
    link_lost(link);
    if (link->memory.outlet) {
        datagram_inlet_close(link->memory.inlet);
        datagram_outlet_close(link->memory.outlet);
    }
    list_remove(&link->memory.node);
}

/* ---- the transport ---- */

int datagram_memory_open(struct datagram_memory *memory)
{
    list_init(&memory->links);
    list_init(&memory->regions);
    memory->bell_page = aligned_alloc(DOORBELL_PLACED_SIZE, DOORBELL_PLACED_SIZE);
    if (!memory->bell_page)
        return -ENOMEM;
    memset(memory->bell_page, 0, DOORBELL_PLACED_SIZE);
    doorbell_open_on(&memory->bell, memory->bell_page);
    return 0;
}

void datagram_memory_close(struct datagram_memory *memory)
{
    assert(list_is_empty(&memory->links) && list_is_empty(&memory->regions));
    id_map_fini(&memory->keys);
    free(memory->bell_page);
}

const struct memory_ops datagram_memory_ops = {
    .region_open = region_open,
    .region_close = region_close,
    .share = memory_share,
    .read = memory_read,
    .write = memory_write,
};
