/* udp: frames as datagrams, for peers that nothing better reaches.
 *
 * One socket serves a context. A pipe has two random numbers, one for each
 * direction, that its ends told each other over the lifeline; a datagram for a
 * number we do not have, or not from the address of its peer, is counted and
 * dropped. There is no one-sided memory.
 *
 *   DATAGRAM_FRAME   outlet -> inlet   a numbered frame
 *   DATAGRAM_RETURN  inlet -> outlet   which frames came, how many were released,
 *                                 and acknowledgements, numbered too
 *   DATAGRAM_ASK     outlet -> inlet   which acknowledgements came; where are you?
 *
 * The network may lose, double and reorder. What both sides say is cumulative,
 * so the next datagram repairs the loss of the last, and each side repeats what
 * was not confirmed, ever more slowly, until the lifeline breaks: frames come
 * in order, once, and none is lost while both live. Credit keeps a sender from
 * overrunning a receiver: at most a window of frames is not yet released.
 *
 * The poller watches the socket; while threads poll by progress() it is left to
 * them, until they arm() or have not come for a while. */
#include "transport/udp/udp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum {
    BUFFER_BYTES = 4 * 1024 * 1024, /* asked for; the system may give less */
    FRAME_COST = 20000,             /* of that, for a full frame with the kernel's own */
    WINDOW_MIN = 8,
    DESCRIPTION_SIZE = 19,
    FAMILY_4 = 4,
    FAMILY_6 = 6,
};

#define IDLE_NSEC (1000 * 1000LL)  /* threads that have not polled for so long do not poll */
#define FAR       (NSEC_NEVER - 1) /* set, and never due */

/* ---- the timer ---- */

static void udp_wake(struct datagram_core *udp, nsec at)
{
    if (at >= udp->timer.at)
        return;
    int result = poller_set(udp->poller, &udp->timer, at);
    assert(result == 0); /* it was set already */
}

void datagram_pipe_wake(struct datagram_pipe *pipe, nsec at)
{
    if (at >= pipe->due)
        return;
    pipe->due = at;
    udp_wake(pipe->link->core, at);
}

nsec datagram_pipe_again(const struct datagram_pipe *pipe, nsec now)
{
    nsec delay = DATAGRAM_AGAIN_NSEC << (pipe->tries < 8 ? pipe->tries : 8);
    return now + (delay < DATAGRAM_AGAIN_NSEC_MAX ? delay : DATAGRAM_AGAIN_NSEC_MAX);
}

static void udp_watch(struct datagram_core *udp, bool on)
{
    udp->carrier->watch(udp, on);
    udp->polled = !on;
}

static void udp_fired(void *owner)
{
    struct datagram_core *udp = owner;
    nsec now = clock_now(), next = FAR;
    int result = poller_set(udp->poller, &udp->timer, FAR);
    assert(result == 0); /* its place is free still */
    if (udp->polled && now >= udp->idle_at) {
        if (!udp->polled_lately)
            udp_watch(udp, true);
        udp->polled_lately = false;
        udp->idle_at = now + IDLE_NSEC;
    }
    if (udp->polled)
        next = udp->idle_at;
    list_each(&udp->all, node)
    {
        struct datagram_pipe *pipe = container_of(node, struct datagram_pipe, node);
        if (pipe->due <= now) {
            pipe->due = NSEC_NEVER;
            pipe->late(pipe, now);
        }
        next = pipe->due < next ? pipe->due : next;
    }
    udp_wake(udp, next);
}

/* ---- pipes ---- */

int datagram_pipe_open(struct datagram_pipe *pipe, struct datagram_link *link,
                       struct doorbell *bell)
{
    struct datagram_core *udp = link->core;
    if (link->lost)
        return -EPIPE;
    do
        pipe->id = entropy_u64();
    while (id_map_get(&udp->pipes, pipe->id));
    if (!id_map_put(&udp->pipes, pipe->id, pipe))
        return -ENOMEM;
    pipe->link = link;
    pipe->bell = bell;
    pipe->due = NSEC_NEVER;
    list_append(&udp->all, &pipe->node);
    return 0;
}

int datagram_pipe_renumber(struct datagram_pipe *pipe, uint64_t id)
{
    struct id_map *pipes = &pipe->link->core->pipes;
    if (id_map_get(pipes, id))
        return -EEXIST;
    if (!id_map_put(pipes, id, pipe))
        return -ENOMEM;
    id_map_take(pipes, pipe->id);
    pipe->id = id;
    return 0;
}

void datagram_pipe_close(struct datagram_pipe *pipe)
{
    void *was = id_map_take(&pipe->link->core->pipes, pipe->id);
    assert(was == pipe);
    list_remove(&pipe->node);
}

/* ---- out ---- */

void datagram_batch_start(struct datagram_batch *batch, struct datagram_pipe *pipe)
{
    batch->pipe = pipe;
    batch->count = 0;
}

void datagram_batch_add(struct datagram_batch *batch, const struct pipe_datagram *frame,
                        const uint8_t *body)
{
    assert(frame->kind == DATAGRAM_FRAME);
    if (batch->count == DATAGRAM_BATCH)
        datagram_batch_send(batch);
    unsigned at = batch->count++;
    struct iovec *pieces = batch->pieces[at];
    pieces[0].iov_base = batch->heads[at];
    pieces[0].iov_len = pipe_datagram_write(frame, batch->heads[at], sizeof batch->heads[at]);
    pieces[1] = (struct iovec){(void *)body, frame->frame.size};
}

void datagram_batch_send(struct datagram_batch *batch)
{
    batch->pipe->link->core->carrier->send(batch);
    batch->count = 0;
}

void datagram_send(struct datagram_pipe *pipe, const struct pipe_datagram *datagram)
{
    uint8_t bytes[DATAGRAM_RETURN_SIZE + DATAGRAM_ACKS_MAX * sizeof(struct acknowledgement)];
    struct datagram_batch batch;
    datagram_batch_start(&batch, pipe);
    batch.count = 1;
    batch.pieces[0][1] = (struct iovec){NULL, 0};
    batch.pieces[0][0] = (struct iovec){bytes, pipe_datagram_write(datagram, bytes, sizeof bytes)};
    pipe->link->core->carrier->send(&batch);
}

static void socket_send(struct datagram_batch *batch)
{
    struct datagram_core *udp = batch->pipe->link->core;
    struct socket_address *peer = &batch->pipe->link->peer;
    for (unsigned i = 0; i < batch->count; i++)
        batch->messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &peer->storage,
                                                          .msg_namelen = peer->size,
                                                          .msg_iov = batch->pieces[i],
                                                          .msg_iovlen = 2}};
    for (unsigned sent = 0; sent < batch->count;) {
        int count = sendmmsg(udp->fd, batch->messages + sent, batch->count - sent,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 1) {
            udp->counts.refused++;
            count = 1; /* lost; it is sent again in time */
        }
        sent += (unsigned)count;
    }
}

/* ---- in ---- */

struct datagram_pipe *datagram_pipe_of(struct datagram_core *udp, const uint8_t *bytes, size_t size,
                                       struct pipe_datagram *datagram)
{
    udp->counts.datagrams++;
    if (pipe_datagram_read(datagram, bytes, size)) {
        udp->counts.garbage++;
        return NULL;
    }
    struct datagram_pipe *pipe = id_map_get(&udp->pipes, datagram->pipe);
    if (!pipe || pipe->link->lost) {
        udp->counts.stray++;
        return NULL;
    }
    return pipe;
}

static void socket_handle(struct datagram_core *udp, const uint8_t *bytes, size_t size,
                          const struct socket_address *from)
{
    struct pipe_datagram datagram;
    struct datagram_pipe *pipe = datagram_pipe_of(udp, bytes, size, &datagram);
    if (!pipe)
        return;
    if (socket_same(from, &pipe->link->peer))
        pipe->heard(pipe, &datagram);
    else
        udp->counts.stray++;
}

/* One batch. Returns how many datagrams came. */
static int socket_receive(struct datagram_core *udp)
{
    struct mmsghdr messages[DATAGRAM_BATCH];
    struct iovec pieces[DATAGRAM_BATCH];
    struct socket_address from[DATAGRAM_BATCH];
    for (unsigned i = 0; i < DATAGRAM_BATCH; i++) {
        pieces[i] = (struct iovec){udp->buffers + i * PIPE_DATAGRAM_MAX, PIPE_DATAGRAM_MAX};
        /* cppcheck-suppress uninitvar ; only its address is taken */
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &from[i].storage,
                                                   .msg_namelen = sizeof from[i].storage,
                                                   .msg_iov = &pieces[i],
                                                   .msg_iovlen = 1}};
    }
    int count = recvmmsg(udp->fd, messages, DATAGRAM_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < count; i++) {
        from[i].size = messages[i].msg_hdr.msg_namelen;
        if (messages[i].msg_hdr.msg_flags & MSG_TRUNC) {
            udp->counts.datagrams++;
            udp->counts.garbage++; /* longer than any of ours */
        } else {
            socket_handle(udp, pieces[i].iov_base, messages[i].msg_len, &from[i]);
        }
    }
    return count > 0 ? count : 0; /* an error of a socket without a peer is a lost datagram's */
}

static void socket_ready(void *owner, uint32_t events)
{
    socket_receive(owner);
}

static void socket_watch(struct datagram_core *udp, bool on)
{
    int result = poller_change(udp->poller, udp->watch, on ? EPOLLIN : 0);
    assert(result == 0); /* it is in the set */
}

static const struct datagram_carrier socket_carrier = {
    .send = socket_send,
    .receive = socket_receive,
    .watch = socket_watch,
};

int datagram_progress(struct transport *transport)
{
    struct datagram_core *udp = container_of(transport, struct datagram_core, transport);
    udp->polled_lately = true;
    if (!udp->polled) {
        udp_watch(udp, false);
        udp->idle_at = clock_now() + IDLE_NSEC;
        udp_wake(udp, udp->idle_at);
    }
    return udp->carrier->receive(udp);
}

int datagram_arm(struct transport *transport)
{
    struct datagram_core *udp = container_of(transport, struct datagram_core, transport);
    if (udp->polled)
        udp_watch(udp, true);
    return udp->carrier->receive(udp);
}

/* ---- the transport ---- */

int datagram_core_open(struct datagram_core *udp, const struct transport_ops *ops,
                       const struct datagram_carrier *carrier,
                       const struct transport_config *config)
{
    udp->transport.ops = ops;
    udp->carrier = carrier;
    udp->poller = config->poller;
    udp->fd = -1;
    udp->timer = (struct poller_timer){.fired = udp_fired, .owner = udp};
    list_init(&udp->all);
    udp->buffers = array_new(DATAGRAM_BATCH, PIPE_DATAGRAM_MAX);
    return udp->buffers ? poller_set(udp->poller, &udp->timer, FAR) : -ENOMEM;
}

void datagram_core_close(struct datagram_core *udp)
{
    assert(list_is_empty(&udp->all));
    poller_remove(udp->poller, udp->watch);
    poller_unset(udp->poller, &udp->timer);
    if (udp->fd >= 0)
        close(udp->fd);
    id_map_fini(&udp->pipes);
    free(udp->buffers);
}

static void udp_close(struct transport *transport)
{
    struct datagram_core *udp = container_of(transport, struct datagram_core, transport);
    datagram_core_close(udp);
    free(udp);
}

/* As large a buffer as we get, and the window that goes with it. */
static int socket_size(struct datagram_core *udp)
{
    int bytes = BUFFER_BYTES;
    socklen_t size = sizeof bytes;
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (getsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size))
        return -errno;
    uint32_t frames = (uint32_t)bytes / FRAME_COST;
    udp->window = frames < WINDOW_MIN            ? WINDOW_MIN
                  : frames > DATAGRAM_WINDOW_MAX ? DATAGRAM_WINDOW_MAX
                                                 : frames;
    return 0;
}

static int socket_open(struct datagram_core *udp, const char *text, struct why *why)
{
    int result = socket_parse(text, &udp->address);
    if (result)
        return why_fail(why, result, "'%.64s' is not an IP address of one interface", text);
    udp->fd = socket(udp->address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->fd < 0 || bind(udp->fd, (struct sockaddr *)&udp->address.storage, udp->address.size))
        result = -errno;
    if (!result)
        result = socket_local(udp->fd, &udp->address);
    if (!result)
        result = socket_size(udp);
    if (!result)
        result = poller_add(udp->poller, udp->fd, EPOLLIN, socket_ready, udp, &udp->watch);
    return result ? why_fail(why, result, "udp: cannot use %s: %s", text, strerror(-result)) : 0;
}

static int udp_open(struct transport **out, const struct transport_config *config, struct why *why)
{
    if (!config->address)
        return why_fail(why, -EADDRNOTAVAIL, "udp needs an IP address of this host");
    struct datagram_core *udp = array_new(1, sizeof *udp);
    if (!udp)
        return why_fail(why, -ENOMEM, "not enough memory");
    int result = datagram_core_open(udp, &transport_udp, &socket_carrier, config);
    if (result)
        why_set(why, "not enough memory");
    if (!result)
        result = socket_open(udp, config->address, why);
    if (result) {
        udp_close(&udp->transport);
        return result;
    }
    if (config->ring_slots && config->ring_slots < udp->window)
        udp->window = config->ring_slots;
    *out = &udp->transport;
    return 0;
}

static int udp_describe(struct transport *transport, uint8_t *out, size_t size)
{
    struct datagram_core *udp = container_of(transport, struct datagram_core, transport);
    struct place place = {0};
    struct writer to = writer_make(out, size);
    socket_to_place(&udp->address, &place);
    write_u8(&to, place.family == AF_INET ? FAMILY_4 : FAMILY_6);
    write_bytes(&to, place.address, sizeof place.address);
    write_u16(&to, place.port);
    return to.failed ? -ENOBUFS : DESCRIPTION_SIZE;
}

void udp_count(const struct transport *transport, struct datagram_counts *counts)
{
    assert(transport->ops == &transport_udp);
    *counts = container_of(transport, struct datagram_core, transport)->counts;
}

/* ---- links ---- */

static int udp_link_open(struct transport *transport, struct lifeline *line,
                         const struct place *peer, const uint8_t *description, size_t size,
                         struct link **out)
{
    struct datagram_core *udp = container_of(transport, struct datagram_core, transport);
    struct reader from = reader_make(description, size);
    struct place place = {0};
    uint8_t family = read_u8(&from);
    read_copy(&from, place.address, sizeof place.address);
    place.port = read_u16(&from);
    if (from.failed || from.left || (family != FAMILY_4 && family != FAMILY_6) || !place.port)
        return -EPROTO;
    place.family = family == FAMILY_4 ? AF_INET : AF_INET6;
    if (place.family != udp->address.storage.ss_family)
        return -EHOSTUNREACH;
    struct datagram_link *link = array_new(1, sizeof *link);
    if (!link)
        return -ENOMEM;
    link->link.ops = &transport_udp;
    link->core = udp;
    int result = socket_of_place(&place, &link->peer);
    assert(result == 0);
    *out = &link->link;
    return 0;
}

void datagram_link_lost(struct link *base)
{
    struct datagram_link *link = container_of(base, struct datagram_link, link);
    link->lost = true;
    list_each(&link->core->all, node)
    {
        struct datagram_pipe *pipe = container_of(node, struct datagram_pipe, node);
        if (pipe->link == link)
            pipe->due = NSEC_NEVER;
    }
}

static void udp_link_close(struct link *base)
{
    free(container_of(base, struct datagram_link, link));
}

/* We send none, so none is right. */
int datagram_link_control(struct link *link, struct control *control)
{
    return -EPROTO;
}

const struct pipe_ops datagram_pipe_ops = {
    .outlet_open = datagram_outlet_open,
    .outlet_answer = datagram_outlet_answer,
    .outlet_close = datagram_outlet_close,
    .inlet_open = datagram_inlet_open,
    .inlet_close = datagram_inlet_close,
    .push = datagram_push,
    .room = datagram_room,
    .collect = datagram_collect,
    .pull = datagram_pull,
    .release = datagram_release,
    .acknowledge = datagram_acknowledge,
    .outlet_owes = datagram_outlet_owes,
    .inlet_owes = datagram_inlet_owes,
};

const struct transport_ops transport_udp = {
    .name = "udp",
    .abilities = TRANSPORT_POLLED,
    .cost_nsec = 15000,
    .pipes = &datagram_pipe_ops,
    .open = udp_open,
    .close = udp_close,
    .describe = udp_describe,
    .link_open = udp_link_open,
    .link_lost = datagram_link_lost,
    .link_close = udp_link_close,
    .link_control = datagram_link_control,
    .progress = datagram_progress,
    .arm = datagram_arm,
};
