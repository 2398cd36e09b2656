/* udp: frames as datagrams, for peers that no better transport reaches.
 *
 * One socket per context carries the pipes of transport/datagram, and requests to read and write
 * memory (datagram_memory.c). A datagram that does not come from the address of its pipe's peer is
 * counted and dropped. */
#include "transport/udp/udp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "transport/fork/descriptor.h"
#include "transport/socket.h"

enum {
    BUFFER_BYTES = 4 * 1024 * 1024, /* requested; the system may give less */
    FRAME_COST = 20000,             /* bytes of it per full frame, with the kernel's overhead */
    WINDOW_MIN = 8,
    DESCRIPTION_SIZE = 19,
    FAMILY_4 = 4,
    FAMILY_6 = 6,
};

struct udp {
    struct datagram_core core;
    int fd;
    struct poller_watch *watch;
    struct socket_address address;
    uint8_t *buffers; /* DATAGRAM_BATCH datagrams */
};

struct udp_link {
    struct datagram_link datagrams;
    struct socket_address peer;
};

static struct udp *udp_of(struct datagram_core *core)
{
    return container_of(core, struct udp, core);
}

static struct socket_address *peer_of(struct datagram_pipe *pipe)
{
    return &container_of(pipe->link, struct udp_link, datagrams)->peer;
}

/* ---- sending ---- */

static void socket_send(struct datagram_batch *batch)
{
    struct udp *udp = udp_of(batch->pipe->link->core);
    struct socket_address *peer = peer_of(batch->pipe);
    struct mmsghdr messages[DATAGRAM_BATCH];
    for (unsigned i = 0; i < batch->count; i++)
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &peer->storage,
                                                   .msg_namelen = peer->size,
                                                   .msg_iov = batch->pieces[i],
                                                   .msg_iovlen = 2}};
    for (unsigned sent = 0; sent < batch->count;) {
        int count =
            sendmmsg(udp->fd, messages + sent, batch->count - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 1) {
            udp->core.counts.refused++;
            count = 1; /* lost; it will be sent again */
        }
        sent += (unsigned)count;
    }
}

/* ---- receiving ---- */

static void socket_handle(struct datagram_core *core, const uint8_t *bytes, size_t size,
                          const struct socket_address *from)
{
    struct pipe_datagram datagram;
    struct datagram_pipe *pipe = datagram_pipe_of(core, bytes, size, &datagram);
    if (!pipe)
        return;
    if (!socket_same(from, peer_of(pipe))) {
        core->counts.stray++;
        return;
    }
    pipe->heard(pipe, &datagram);
    datagram_memory_work(pipe->link);
}

/* Receives one batch. Returns how many datagrams arrived. */
static int socket_receive(struct datagram_core *core)
{
    struct udp *udp = udp_of(core);
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
            core->counts.datagrams++;
            core->counts.garbage++; /* longer than any valid datagram */
        } else {
            socket_handle(core, pieces[i].iov_base, messages[i].msg_len, &from[i]);
        }
    }
    return count > 0 ? count : 0; /* an error belongs to a datagram sent earlier, which is lost */
}

static void socket_ready(void *owner, uint32_t events)
{
    socket_receive(owner);
}

static void socket_watch(struct datagram_core *core, bool on)
{
    int result = poller_change(core->poller, udp_of(core)->watch, on ? EPOLLIN : 0);
    assert(result == 0); /* the descriptor is in the set */
}

static const struct datagram_carrier socket_carrier = {
    .send = socket_send,
    .receive = socket_receive,
    .watch = socket_watch,
};

/* ---- the transport ---- */

static void udp_close(struct transport *transport)
{
    struct udp *udp = container_of(transport, struct udp, core.transport);
    datagram_memory_close(&udp->core.memory);
    datagram_core_close(&udp->core);
    poller_remove(udp->core.poller, udp->watch);
    if (udp->fd >= 0)
        descriptor_close(udp->fd);
    free(udp->buffers);
    free(udp);
}

/* Requests a large buffer, and derives the window from the size that the system gives. */
static int socket_size(struct udp *udp)
{
    int bytes = BUFFER_BYTES;
    socklen_t size = sizeof bytes;
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (getsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size))
        return -errno;
    uint32_t frames = (uint32_t)bytes / FRAME_COST;
    udp->core.window = frames < WINDOW_MIN            ? WINDOW_MIN
                       : frames > DATAGRAM_WINDOW_MAX ? DATAGRAM_WINDOW_MAX
                                                      : frames;
    return 0;
}

static int socket_open(struct udp *udp, const char *text, struct why *why)
{
    int result = socket_parse(text, &udp->address);
    if (result)
        return why_fail(why, result, "'%.64s' is not an IP address of one interface", text);
    udp->fd = DESCRIPTOR_OPEN(
        socket(udp->address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (udp->fd < 0 || bind(udp->fd, (struct sockaddr *)&udp->address.storage, udp->address.size))
        result = -errno;
    if (!result)
        result = socket_local(udp->fd, &udp->address);
    if (!result)
        result = socket_size(udp);
    if (!result)
        result =
            poller_add(udp->core.poller, udp->fd, EPOLLIN, socket_ready, &udp->core, &udp->watch);
    return result ? why_fail(why, result, "udp: cannot use %s: %s", text, strerror(-result)) : 0;
}

static int udp_open(struct transport **out, const struct transport_config *config, struct why *why)
{
    if (!config->address)
        return why_fail(why, -EADDRNOTAVAIL, "udp needs an IP address of this host");
    struct udp *udp = array_new(1, sizeof *udp);
    if (!udp)
        return why_fail(why, -ENOMEM, "not enough memory");
    udp->fd = -1;
    udp->buffers = array_new(DATAGRAM_BATCH, PIPE_DATAGRAM_MAX);
    int result = datagram_memory_open(&udp->core.memory);
    int opened = datagram_core_open(&udp->core, &transport_udp, &socket_carrier, config);
    result = result ? result : opened;
    if (!result && !udp->buffers)
        result = -ENOMEM;
    if (result)
        why_set(why, "not enough memory");
    if (!result)
        result = socket_open(udp, config->address, why);
    if (result) {
        udp_close(&udp->core.transport);
        return result;
    }
    if (config->ring_slots && config->ring_slots < udp->core.window)
        udp->core.window = config->ring_slots;
    *out = &udp->core.transport;
    return 0;
}

static int udp_describe(struct transport *transport, uint8_t *out, size_t size)
{
    struct udp *udp = container_of(transport, struct udp, core.transport);
    struct context_address address = {0};
    struct writer to = writer_make(out, size);
    socket_to_address(&udp->address, &address);
    write_u8(&to, address.family == AF_INET ? FAMILY_4 : FAMILY_6);
    write_bytes(&to, address.address, sizeof address.address);
    write_u16(&to, address.port);
    return to.failed ? -ENOBUFS : DESCRIPTION_SIZE;
}

void udp_count(const struct transport *transport, struct datagram_counts *counts)
{
    assert(transport->ops == &transport_udp);
    *counts = container_of(transport, struct udp, core.transport)->core.counts;
}

/* ---- links ---- */

static int udp_link_open(struct transport *transport, struct lifeline *line,
                         const struct context_address *peer, const uint8_t *description,
                         size_t size, struct transport_link **out)
{
    struct udp *udp = container_of(transport, struct udp, core.transport);
    struct reader from = reader_make(description, size);
    struct context_address address = {0};
    uint8_t family = read_u8(&from);
    read_copy(&from, address.address, sizeof address.address);
    address.port = read_u16(&from);
    if (from.failed || from.left || (family != FAMILY_4 && family != FAMILY_6) || !address.port)
        return -EPROTO;
    address.family = family == FAMILY_4 ? AF_INET : AF_INET6;
    if (address.family != udp->address.storage.ss_family)
        return -EHOSTUNREACH;
    struct udp_link *link = array_new(1, sizeof *link);
    if (!link)
        return -ENOMEM;
    link->datagrams.link.ops = &transport_udp;
    link->datagrams.core = &udp->core;
    int result = socket_of_address(&address, &link->peer);
    assert(result == 0);
    /* Numbers of both ends for the pipes of memory. In a link of a context to itself the two
     * addresses are equal. */
    uint8_t own[DESCRIPTION_SIZE];
    bool connects = line && lifeline_outgoing(line), listens = line && !connects;
    result = udp_describe(transport, own, sizeof own);
    assert(result == DESCRIPTION_SIZE);
    datagram_memory_link_open(&link->datagrams, line ? lifeline_number(line) : 0,
                              hash_bytes(own, sizeof own) + connects,
                              hash_bytes(description, size) + listens);
    *out = &link->datagrams.link;
    return 0;
}

static void udp_link_close(struct transport_link *base)
{
    struct udp_link *link = container_of(base, struct udp_link, datagrams.link);
    datagram_memory_link_close(&link->datagrams);
    free(link);
}

const struct transport_ops transport_udp = {
    .name = "udp",
    .abilities = TRANSPORT_POLLED,
    .cost_nsec = 15000,
    .pipes = &datagram_pipe_ops,
    .memory = &datagram_memory_ops,
    .open = udp_open,
    .close = udp_close,
    .describe = udp_describe,
    .link_open = udp_link_open,
    .link_lost = datagram_memory_link_lost,
    .link_close = udp_link_close,
    .link_control = datagram_link_control,
    .progress = datagram_progress,
    .arm = datagram_arm,
};
