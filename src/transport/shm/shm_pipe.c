/* shm_pipe: a ring in a memory file of the sender, and a doorbell at each end.
 *
 * The offer carries the ring's shape and three descriptors: one of the memory file, two of the
 * sender's bell. The answer carries the receiver's bell. Until that arrives, the sender cannot
 * ring: the receiver looks at the ring when it opens the pipe, and the sender rings once when the
 * answer arrives, for frames that it pushed in between. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/shm/shm_impl.h"

#define OFFER_SIZE     8
#define OFFER_FD_COUNT (1 + DOORBELL_FD_COUNT)
static_assert(OFFER_FD_COUNT <= CONTROL_FD_MAX, "one message carries all");

static void shm_ring(struct shm_link *link, struct shm_bell *bell)
{
    if (ringer_ring(&bell->ringer))
        link->shm->transport.wakes++;
}

/* ---- sender ---- */

/* Closes the descriptor of a mapped file: the mapping keeps the memory, and a process has many
 * pipes but few descriptors. */
static void file_forget_fd(struct memfile *file)
{
    descriptor_close(file->fd);
    file->fd = -1;
}

static int offer_write(struct shm_outlet *outlet, const struct ring_shape *shape,
                       const struct doorbell *bell, struct parcel *offer)
{
    *offer = (struct parcel){.size = OFFER_SIZE};
    struct writer out = writer_make(offer->bytes, sizeof offer->bytes);
    write_u32(&out, shape->slots);
    write_u32(&out, shape->bytes);
    assert(!out.failed);
    offer->fds[0] = memfile_share(&outlet->file, 1);
    if (offer->fds[0] < 0)
        return offer->fds[0];
    int result = doorbell_share(bell, &offer->fds[1]);
    if (result) {
        descriptor_close(offer->fds[0]);
        return result;
    }
    offer->fd_count = OFFER_FD_COUNT;
    return 0;
}

static int shm_outlet_open(struct transport_link *base, struct doorbell *bell, struct parcel *offer,
                           struct outlet **out)
{
    struct shm_link *link = (struct shm_link *)base;
    if (!link->line)
        return -EPIPE;
    struct shm_outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet)
        return -ENOMEM;
    const struct ring_shape *shape = &link->shm->shape;
    outlet->outlet.ops = &shm_pipe_ops;
    outlet->link = link;
    int result = memfile_open(&outlet->file, "weft-ring", ring_size(shape));
    if (result)
        goto free_outlet;
    result = ring_sender_init(&outlet->ring, outlet->file.base, shape);
    if (result)
        goto close_file;
    result = offer_write(outlet, shape, bell, offer);
    if (result)
        goto fini_ring;
    file_forget_fd(&outlet->file);
    *out = &outlet->outlet;
    return 0;

fini_ring:
    ring_sender_fini(&outlet->ring);
close_file:
    memfile_close(&outlet->file);
free_outlet:
    free(outlet);
    return result;
}

static int shm_outlet_answer(struct outlet *base, struct parcel *answer)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    if (answer->fd_count != DOORBELL_FD_COUNT || outlet->bell)
        return -EPROTO;
    const int fds[DOORBELL_FD_COUNT] = {answer->fds[0], answer->fds[1]};
    answer->fds[0] = answer->fds[1] = -1;
    int result = shm_bell_open(outlet->link, fds, &outlet->bell);
    if (result)
        return result;
    /* The receiver may have fallen asleep before we could ring. */
    shm_ring(outlet->link, outlet->bell);
    return 0;
}

static void shm_outlet_close(struct outlet *base)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    if (outlet->bell)
        shm_bell_close(outlet->link, outlet->bell);
    ring_sender_fini(&outlet->ring);
    memfile_close(&outlet->file);
    free(outlet);
}

static int shm_push(struct outlet *base, const struct frame_head *head, const struct iovec *pieces,
                    unsigned piece_count)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    if (!outlet->link->line)
        return -EPIPE;
    int result = ring_push(&outlet->ring, head, pieces, piece_count);
    if (!result && outlet->bell && !(head->kind & FRAME_LAZY))
        shm_ring(outlet->link, outlet->bell);
    return result;
}

static uint8_t *shm_place(struct outlet *base, size_t size)
{
    return ring_place(&((struct shm_outlet *)base)->ring, size);
}

static unsigned shm_room(struct outlet *base, size_t size)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    return size <= FRAME_BODY_MAX ? ring_room(&outlet->ring, size) : 0;
}

static int shm_collect(struct outlet *base, struct acknowledgement *out, unsigned max)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    int count = ring_collect(&outlet->ring, out, max);
    return count || outlet->link->line ? count : -EPIPE;
}

static void shm_outlet_count(struct outlet *base, struct outlet_counts *counts)
{
    struct shm_outlet *outlet = (struct shm_outlet *)base;
    *counts = (struct outlet_counts){outlet->ring.tail, ring_released(&outlet->ring)};
}

/* ---- receiver ---- */

static int inlet_map(struct shm_inlet *inlet, struct parcel *offer)
{
    struct reader in = reader_make(offer->bytes, offer->size);
    struct ring_shape shape = {.slots = read_u32(&in), .bytes = read_u32(&in)};
    if (in.failed || in.left || offer->fd_count != OFFER_FD_COUNT || !ring_shape_valid(&shape))
        return -EPROTO;
    int segment = offer->fds[0];
    const int fds[DOORBELL_FD_COUNT] = {offer->fds[1], offer->fds[2]};
    offer->fds[0] = -1;
    int result = memfile_map(&inlet->file, segment, ring_size(&shape), 1);
    if (result)
        return result;
    file_forget_fd(&inlet->file);
    offer->fds[1] = offer->fds[2] = -1;
    result = shm_bell_open(inlet->link, fds, &inlet->bell);
    if (result)
        return result;
    if (shm_bells_are_many(inlet->link))
        return -ECONNREFUSED;
    return ring_receiver_init(&inlet->ring, inlet->file.base, &shape);
}

static void shm_inlet_close(struct inlet *base)
{
    struct shm_inlet *inlet = (struct shm_inlet *)base;
    if (inlet->bell)
        shm_bell_close(inlet->link, inlet->bell);
    ring_receiver_fini(&inlet->ring);
    memfile_close(&inlet->file);
    free(inlet);
}

static int shm_inlet_open(struct transport_link *base, struct doorbell *bell, struct parcel *offer,
                          struct parcel *answer, struct inlet **out)
{
    struct shm_inlet *inlet = calloc(1, sizeof *inlet);
    if (!inlet)
        return -ENOMEM;
    inlet->inlet.ops = &shm_pipe_ops;
    inlet->link = (struct shm_link *)base;
    inlet->file.fd = -1;
    *answer = (struct parcel){0};
    int result = inlet_map(inlet, offer);
    if (!result)
        result = doorbell_share(bell, answer->fds);
    if (result) {
        shm_inlet_close(&inlet->inlet);
        return result;
    }
    answer->fd_count = DOORBELL_FD_COUNT;
    *out = &inlet->inlet;
    return 0;
}

static int shm_pull(struct inlet *base, struct frame *out, unsigned max)
{
    struct shm_inlet *inlet = (struct shm_inlet *)base;
    bool credit;
    int count = ring_pull(&inlet->ring, out, max, &credit);
    if (credit)
        shm_ring(inlet->link, inlet->bell);
    return count;
}

static bool shm_waiting(const struct inlet *base)
{
    return ring_waiting(&((const struct shm_inlet *)base)->ring);
}

static void shm_release(struct inlet *base, const struct frame *frame)
{
    struct shm_inlet *inlet = (struct shm_inlet *)base;
    if (ring_release(&inlet->ring, frame))
        shm_ring(inlet->link, inlet->bell);
}

static int shm_acknowledge(struct inlet *base, uint64_t token, int64_t status)
{
    struct shm_inlet *inlet = (struct shm_inlet *)base;
    int result = ring_acknowledge(&inlet->ring, token, status);
    if (result)
        return result;
    shm_ring(inlet->link, inlet->bell);
    return inlet->link->line ? 0 : -EPIPE;
}

const struct pipe_ops shm_pipe_ops = {
    .outlet_open = shm_outlet_open,
    .outlet_answer = shm_outlet_answer,
    .outlet_close = shm_outlet_close,
    .inlet_open = shm_inlet_open,
    .inlet_close = shm_inlet_close,
    .push = shm_push,
    .place = shm_place,
    .room = shm_room,
    .collect = shm_collect,
    .outlet_count = shm_outlet_count,
    .pull = shm_pull,
    .waiting = shm_waiting,
    .release = shm_release,
    .acknowledge = shm_acknowledge,
};
