/* lifeline_queue: moves whole messages through the socket.
 *
 * A Unix socket of sequenced packets preserves message boundaries and carries descriptors; in a TCP
 * stream the size in each head separates the messages. A message that the socket does not take now
 * is queued with duplicates of its descriptors, and we watch the socket for room only while
 * something is queued.
 *
 * A received descriptor is ours from the moment the kernel installs it: every path out of
 * lifeline_get either hands it over or closes it. If this process has no room for all descriptors
 * of a message, the kernel drops the others. So a message is looked at first, and taken out of the
 * socket only if all its descriptors were installed; else it stays there, and the line rests. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/lifeline/lifeline_impl.h"
#include "transport/routed/attachment.h"

enum { QUEUED_FDS_MAX = 128, FLUSH_MAX = 256 };

#define FLUSH_AGAIN_NSEC (2 * 1000 * 1000LL)   /* delay when too many descriptors are in flight */
#define READ_AGAIN_NSEC  (100 * 1000 * 1000LL) /* pause when no descriptors are left */

union fd_room { /* a union for the header's alignment */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FD_MAX)];
};

void control_close_fds(struct control *control)
{
    lifeline_fds_close(control->fds, control->fd_count);
    control->fd_count = 0;
}

/* ---- sending ---- */

/* Sends what the socket takes. Returns how many bytes, or an error. */
static ssize_t socket_put(struct lifeline *line, const struct iovec *pieces, unsigned piece_count,
                          const int *fds, unsigned fd_count)
{
    union fd_room room;
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = piece_count};
    if (fd_count) {
        memset(&room, 0, sizeof room);
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(line->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    switch (errno) {
    case EAGAIN:
        return 0;
    case ECONNRESET:
        line->broken = true;
        return -EPIPE;
    case EPIPE: /* the orderly end came first, or an earlier send failed */
    case ENOBUFS:
    case ENOMEM:
        return -errno;
    case ETOOMANYREFS: /* too many descriptors of ours are in flight on all sockets together */
        return -ENOBUFS;
    default:
        line->broken = true;
        return -errno;
    }
}

static void watch_change(struct lifeline *line, bool out_wanted, bool rests)
{
    uint32_t in = rests ? 0 : EPOLLIN | EPOLLRDHUP;
    if (line->out_wanted == out_wanted && line->rests == rests)
        return;
    int result = poller_change(line->lines->poller, line->watch, in | (out_wanted ? EPOLLOUT : 0u));
    assert(result == 0); /* the descriptor is in the set: nothing has to be allocated */
    line->out_wanted = out_wanted;
    line->rests = rests;
}

static void watch_for_room(struct lifeline *line, bool wanted)
{
    watch_change(line, wanted, line->rests);
}

void lifeline_rest(struct lifeline *line, bool rests)
{
    assert(line->state == LIFELINE_UP);
    watch_change(line, line->out_wanted, rests);
    if (!rests)
        return;
    int result = poller_set(line->lines->poller, &line->timer, clock_after(READ_AGAIN_NSEC));
    if (result)
        lifeline_cut(line, result);
}

static int fds_copy(struct lifeline_parcel *parcel, const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        parcel->fds[i] = DESCRIPTOR_OPEN(fcntl(fds[i], F_DUPFD_CLOEXEC, 0));
        if (parcel->fds[i] < 0)
            return -errno;
        parcel->fd_count++;
    }
    return 0;
}

static int queue_add(struct lifeline *line, const struct iovec *pieces, size_t sent, const int *fds,
                     unsigned fd_count)
{
    size_t size = pieces[0].iov_len + pieces[1].iov_len;
    if (line->queued_size + size > LIFELINE_QUEUE_MAX ||
        line->queued_fds + fd_count > QUEUED_FDS_MAX)
        return -ENOBUFS;
    struct lifeline_parcel *parcel = malloc(sizeof *parcel + size);
    if (!parcel)
        return -ENOMEM;
    *parcel = (struct lifeline_parcel){.size = size, .sent = sent};
    memcpy(parcel->bytes, pieces[0].iov_base, pieces[0].iov_len);
    if (pieces[1].iov_len)
        memcpy(parcel->bytes + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
    int result = fds_copy(parcel, fds, fd_count);
    if (result) {
        lifeline_parcel_free(parcel);
        return result;
    }
    *line->queue_end = parcel;
    line->queue_end = &parcel->next;
    line->queued_size += size;
    line->queued_fds += fd_count;
    watch_for_room(line, true);
    return 0;
}

int lifeline_put(struct lifeline *line, const struct control_head *head, const uint8_t *body,
                 const int *fds)
{
    uint8_t bytes[CONTROL_HEAD_SIZE];
    control_head_write(bytes, head);
    struct iovec pieces[2] = {{bytes, sizeof bytes}, {(void *)body, head->size}};
    ssize_t sent = 0;
    if (!line->queue) {
        sent = socket_put(line, pieces, 2, fds, head->fd_count);
        if (sent == -ENOBUFS) /* not a matter of this line: the queue tries again */
            sent = 0;
        if (sent < 0)
            return (int)sent;
        if ((size_t)sent == sizeof bytes + head->size)
            return 0;
    }
    int result = queue_add(line, pieces, (size_t)sent, fds, head->fd_count);
    if (result && sent) /* half a message was sent: the stream is useless now */
        lifeline_cut(line, result);
    return result;
}

/* Returns 1 when the first parcel is sent, 0 when the socket is full, or an error. */
static int queue_send_first(struct lifeline *line)
{
    struct lifeline_parcel *parcel = line->queue;
    struct iovec piece = {parcel->bytes + parcel->sent, parcel->size - parcel->sent};
    ssize_t sent = socket_put(line, &piece, 1, parcel->fds, parcel->fd_count);
    if (sent < 0)
        return (int)sent;
    parcel->sent += (size_t)sent;
    if (parcel->sent < parcel->size)
        return 0;
    line->queue = parcel->next;
    if (!line->queue)
        line->queue_end = &line->queue;
    line->queued_size -= parcel->size;
    line->queued_fds -= parcel->fd_count;
    lifeline_parcel_free(parcel);
    return 1;
}

void lifeline_flush(struct lifeline *line)
{
    int result = 1;
    for (int i = 0; i < FLUSH_MAX && line->queue && result == 1; i++)
        result = queue_send_first(line);
    if (result == -ENOBUFS) { /* the socket has room, so EPOLLOUT would come at once */
        watch_for_room(line, false);
        result = poller_set(line->lines->poller, &line->timer, clock_after(FLUSH_AGAIN_NSEC));
    }
    if (result == -EPIPE)
        lifeline_queue_clear(line); /* the peer is gone; reading notices it, after its messages */
    else if (result < 0)
        lifeline_cut(line, result);
    if (line->watch && !line->queue)
        watch_for_room(line, false);
}

/* ---- receiving ---- */

/* Collects the received descriptors, at most as many as fit; closes the rest. */
static void fds_collect(struct msghdr *message, struct control *control)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
            if (control->fd_count < CONTROL_FD_MAX)
                control->fds[control->fd_count++] = fd;
            else
                descriptor_close(fd);
        }
    }
}

/* A Unix peer that dies with unread messages makes one read fail; what it sent can still be read
 * after that. */
static ssize_t socket_get(struct lifeline *line, struct msghdr *message, int flags)
{
    for (;;) {
        ssize_t got = descriptor_receive(line->fd, message, flags);
        if (got >= 0)
            return got;
        if (errno == ECONNRESET && line->local && !line->reset_seen) {
            line->reset_seen = true;
            continue;
        }
        if (errno != EINTR)
            return -errno;
    }
}

/* Did the kernel drop descriptors of the message because this process has no room for them? (A peer
 * that sends more descriptors than a message may have fills the array.) No hello has descriptors.
 */
static bool packet_lacks(const struct lifeline *line, const struct msghdr *message,
                         const struct control *control)
{
    return message->msg_flags & MSG_CTRUNC && control->fd_count < CONTROL_FD_MAX &&
           line->state == LIFELINE_UP;
}

/* Waits for descriptors, but not for those from a peer that has ended. */
static int packet_leave(const struct lifeline *line, struct control *control)
{
    struct pollfd end = {.fd = line->fd};
    control_close_fds(control);
    return poll(&end, 1, 0) == 0 ? -EMFILE : -EPIPE;
}

/* Takes the packet that was looked at out of the socket. Its descriptors are ours already. */
static void packet_drop(struct lifeline *line)
{
    uint8_t byte;
    while (recv(line->fd, &byte, sizeof byte, MSG_DONTWAIT) < 0 &&
           (errno == EINTR || errno == ECONNRESET))
        line->reset_seen |= errno == ECONNRESET;
}

static int packet_get(struct lifeline *line, struct control *control)
{
    uint8_t bytes[CONTROL_HEAD_SIZE];
    union fd_room room;
    struct iovec pieces[2] = {{bytes, sizeof bytes}, {control->body, sizeof control->body}};
    struct msghdr message = {.msg_iov = pieces,
                             .msg_iovlen = 2,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    struct control_head head;
    ssize_t got = socket_get(line, &message, MSG_PEEK);
    if (got == -EAGAIN)
        return 0;
    if (got < 0)
        return got == -ECONNRESET ? -EPIPE : (int)got;
    fds_collect(&message, control);
    if (packet_lacks(line, &message, control))
        return packet_leave(line, control);
    if (got > 0)
        packet_drop(line);
    int result = 1;
    if (got == 0)
        result = -EPIPE; /* the peer closed; an empty packet, which we never send, looks the same */
    else if (got < CONTROL_HEAD_SIZE || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
             control_head_read(&head, bytes) || head.size != got - CONTROL_HEAD_SIZE ||
             head.fd_count != control->fd_count)
        result = -EPROTO;
    if (result < 0) {
        control_close_fds(control);
        return result;
    }
    control->kind = head.kind;
    control->size = head.size;
    return 1;
}

/* Returns 1 and the head if the stream's buffer contains a whole message. */
static int stream_look(const struct lifeline *line, struct control_head *head)
{
    if (line->input_size < CONTROL_HEAD_SIZE)
        return 0;
    if (control_head_read(head, line->input) || head->fd_count)
        return -EPROTO;
    return line->input_size >= CONTROL_HEAD_SIZE + (size_t)head->size;
}

bool lifeline_has_read(const struct lifeline *line)
{
    struct control_head head;
    return stream_look(line, &head) != 0;
}

static int stream_take(struct lifeline *line, struct control *control)
{
    struct control_head head;
    int result = stream_look(line, &head);
    if (result != 1)
        return result;
    size_t whole = CONTROL_HEAD_SIZE + head.size;
    control->kind = head.kind;
    control->size = head.size;
    memcpy(control->body, line->input + CONTROL_HEAD_SIZE, head.size);
    line->input_size -= whole;
    memmove(line->input, line->input + whole, line->input_size);
    return 1;
}

/* The stream has ended in an orderly way. Is that certain to be the end of the peer's context? A
 * line through the servers also ends with one of the servers. */
static bool stream_is_ended(const struct lifeline *line)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    struct relay_address program;
    if (getsockopt(line->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX)
        return !line->broken;
    if (line->peer.family != ADDRESS_FABRIC || !line->lines->attachment)
        return false;
    relay_address_read(&program, line->peer.address);
    return attachment_is_absent(line->lines->attachment, &program);
}

/* The peer last heard us at most TCP_IDLE_SEC before our host stopped, and gives us up
 * TCP_TIMEOUT_MSEC after that. While our host runs, we hear the peer every TCP_IDLE_SEC, or our own
 * kernel gives up first. */
bool lifeline_was_silent(uint32_t heard_msec, nsec suspended)
{
    const uint32_t least_msec = TCP_TIMEOUT_MSEC - TCP_IDLE_SEC * 1000;
    return heard_msec >= least_msec || suspended >= least_msec * (NSEC_PER_SEC / 1000);
}

/* The stream was reset. Was our host, perhaps a virtual machine, not running for so long that the
 * peer may have given us up? Then its process may have gone on without us, and a refused connection
 * says only that the process has ended since. */
static bool stream_was_silent(const struct lifeline *line)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(line->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           size >= offsetof(struct tcp_info, tcpi_pmtu) &&
           lifeline_was_silent(info.tcpi_last_ack_recv, clock_suspended() - line->suspended);
}

static int stream_get(struct lifeline *line, struct control *control)
{
    for (;;) {
        int result = stream_take(line, control);
        if (result)
            return result;
        assert(line->input_size < sizeof line->input); /* else it contained a whole message */
        struct iovec piece = {line->input + line->input_size,
                              sizeof line->input - line->input_size};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        ssize_t got = socket_get(line, &message, 0);
        if (got == -EAGAIN)
            return 0;
        /* -EPIPE: the orderly end came before a reset, which answers what we sent after it. */
        line->ended |= (got == 0 || got == -EPIPE) && stream_is_ended(line);
        if (got == -ECONNRESET || (got == 0 && line->broken))
            return line->state == LIFELINE_UP && stream_was_silent(line) ? -ETIMEDOUT : -EPIPE;
        if (got <= 0)
            return got == 0 ? -EPIPE : (int)got;
        line->input_size += (size_t)got;
    }
}

int lifeline_get(struct lifeline *line, struct control *control)
{
    control->fd_count = 0;
    for (unsigned i = 0; i < CONTROL_FD_MAX; i++)
        control->fds[i] = -1;
    return line->local ? packet_get(line, control) : stream_get(line, control);
}
