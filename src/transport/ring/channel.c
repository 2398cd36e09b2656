/* channel: the memory consists of two bells, the program's and the node's, then the ring from the
 * program to the node, then the ring back. The head of a message travels in the frame's head: the
 * service's number is its kind, the ticket its user number, the status its first two user bytes.
 *
 * A message that finds no room is refused. A sender that wants to be told when there is room again
 * says so in a word after its bell; the receiver then rings when it publishes released frames. */
#include "transport/ring/channel.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/memfile.h"
#include "transport/ring/ring.h"
#include "transport/wake/doorbell.h"

enum {
    BELL_SPACE = 128,   /* two cache lines, so that ringing one bell does not disturb the other */
    BYTES = 512 * 1024, /* a window of frames for one peer, and a second window in flight */
    SLOTS_MAX = 1024,   /* the largest channel that a node accepts ... */
    BYTES_MAX = 1024 * 1024 /* ... from one program */
};
static_assert(CHANNEL_MESSAGE_MAX == FRAME_BODY_MAX, "a message is a frame");
static_assert(BELL_SPACE >= DOORBELL_PLACED_SIZE + sizeof(uint32_t), "a bell and a word fit");

struct channel {
    struct memfile file;
    struct ring_shape shape;
    int socket;   /* borrowed */
    bool is_node; /* else this is the program's end */
    struct doorbell bell;
    struct ringer ringer;
    struct ring_sender out;
    struct ring_receiver in;
    /* After our bell and after the peer's. The sender that waits for room stores 1, relaxed, before
     * its fence; the receiver loads it, relaxed, after it published released frames. The fence of
     * the sleeper orders both, as it orders the bell (wake/doorbell.h). */
    _Atomic uint32_t *wants, *peer_wants;
};

static size_t channel_size(const struct ring_shape *shape)
{
    return 2 * BELL_SPACE + 2 * ring_size(shape);
}

/* Starts the rings and our bell in memory that is mapped. */
static int channel_begin(struct channel *channel)
{
    uint8_t *base = channel->file.base, *rings = base + 2 * BELL_SPACE;
    size_t there = ring_size(&channel->shape) * channel->is_node;
    size_t back = ring_size(&channel->shape) * !channel->is_node;
    uint8_t *own = base + BELL_SPACE * channel->is_node;
    uint8_t *peers = base + BELL_SPACE * !channel->is_node;
    doorbell_open_on(&channel->bell, own);
    channel->wants = (_Atomic uint32_t *)(own + DOORBELL_PLACED_SIZE);
    channel->peer_wants = (_Atomic uint32_t *)(peers + DOORBELL_PLACED_SIZE);
    int result = ring_sender_init(&channel->out, rings + there, &channel->shape);
    return result ? result : ring_receiver_init(&channel->in, rings + back, &channel->shape);
}

/* The peer has opened its bell by now, so what its page says is valid. */
void channel_agree(struct channel *channel)
{
    uint8_t *base = channel->file.base;
    ringer_open_on(&channel->ringer, base + BELL_SPACE * !channel->is_node);
    channel->ringer.event_fd = channel->socket;
    descriptor_close(channel->file.fd); /* the mapping keeps the memory */
    channel->file.fd = -1;
}

static struct channel *channel_new(int socket, bool is_node)
{
    struct channel *channel = array_new(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->file.fd = -1;
    channel->ringer = (struct ringer){.file.fd = -1, .event_fd = -1};
    channel->socket = socket;
    channel->is_node = is_node;
    return channel;
}

int channel_open(struct channel **out, int socket)
{
    struct channel *channel = channel_new(socket, false);
    if (!channel)
        return -ENOMEM;
    channel->shape = ring_shape_make(CHANNEL_SLOTS, BYTES);
    int result = memfile_open(&channel->file, "weft-channel", channel_size(&channel->shape));
    if (!result)
        result = channel_begin(channel);
    if (result) {
        channel_close(channel);
        return result;
    }
    *out = channel;
    return 0;
}

int channel_map(struct channel **out, int file, const struct attach_ask *ask, int socket)
{
    const struct ring_shape shape = {ask->slots, ask->bytes};
    bool valid = ring_shape_valid(&shape) && shape.slots <= SLOTS_MAX && shape.bytes <= BYTES_MAX;
    struct channel *channel = valid ? channel_new(socket, true) : NULL;
    if (!channel) {
        if (file >= 0)
            descriptor_close(file);
        return valid ? -ENOMEM : -EINVAL;
    }
    channel->shape = shape;
    int result = memfile_map(&channel->file, file, channel_size(&shape), 1);
    if (!result)
        result = channel_begin(channel);
    if (result) {
        channel_close(channel);
        return result;
    }
    channel_agree(channel);
    *out = channel;
    return 0;
}

void channel_close(struct channel *channel)
{
    if (!channel)
        return;
    /* Bell and ringer own nothing: their pages are in the file. */
    ring_sender_fini(&channel->out);
    ring_receiver_fini(&channel->in);
    memfile_close(&channel->file);
    free(channel);
}

/* ---- handing the descriptor over ---- */

union file_room {
    struct cmsghdr align;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
};

int channel_offer(const struct channel *channel)
{
    uint8_t ask[ATTACH_ASK_SIZE];
    union file_room room = {0};
    struct iovec piece = {ask, sizeof ask};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &channel->file.fd, sizeof(int));
    attach_ask_write(&(struct attach_ask){channel->shape.slots, channel->shape.bytes}, ask);
    return sendmsg(channel->socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* There is room for one descriptor: the system closes any others. */
ssize_t channel_recv(int socket, void *bytes, size_t size, int *file)
{
    union file_room room;
    struct iovec piece = {bytes, size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    *file = -1;
    ssize_t got = descriptor_receive(socket, &message, 0);
    struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(file, CMSG_DATA(header), sizeof(int));
    return got;
}

/* ---- messages ---- */

int channel_put(struct channel *channel, const struct attach_head *head, const struct iovec *pieces,
                unsigned count)
{
    const struct frame_head frame = {
        .user = head->ticket,
        .kind = head->service,
        .user_bytes = {(uint8_t)(head->status >> 8), (uint8_t)head->status}};
    return ring_push(&channel->out, &frame, pieces, count);
}

void channel_ring(struct channel *channel)
{
    ringer_ring(&channel->ringer);
}

int channel_say(struct channel *channel, const struct attach_head *head, const struct iovec *pieces,
                unsigned count)
{
    int result = channel_put(channel, head, pieces, count);
    if (!result)
        channel_ring(channel);
    return result;
}

bool channel_has_room(struct channel *channel)
{
    return channel->out.broken || ring_room(&channel->out, CHANNEL_MESSAGE_MAX);
}

void channel_want_room(struct channel *channel, bool wanted)
{
    atomic_store_explicit(channel->wants, wanted, memory_order_relaxed);
}

int channel_take(struct channel *channel, struct channel_message *out, void *bytes)
{
    struct frame frame;
    bool credit;
    int count = ring_pull(&channel->in, &frame, 1, &credit);
    if (count > 0) {
        out->head = (struct attach_head){
            .service = frame.head.kind,
            .status = (uint16_t)(frame.head.user_bytes[0] << 8 | frame.head.user_bytes[1]),
            .ticket = frame.head.user,
        };
        out->size = frame.size;
        memcpy(bytes, frame.body, frame.size);
        credit |= ring_release(&channel->in, &frame);
    }
    if (credit && (channel->ringer.must_fence ||
                   atomic_load_explicit(channel->peer_wants, memory_order_relaxed)))
        ringer_ring(&channel->ringer);
    return count;
}

bool channel_waiting(const struct channel *channel)
{
    return ring_waiting(&channel->in);
}

void channel_arm(struct channel *channel)
{
    doorbell_arm(&channel->bell);
}

void channel_fence(const struct channel *channel)
{
    doorbell_fence(&channel->bell);
}

void channel_disarm(struct channel *channel)
{
    doorbell_disarm(&channel->bell);
}
