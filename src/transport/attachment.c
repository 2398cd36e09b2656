/* attachment: see attachment.h. One socket of sequenced packets: a request is the service's number
 * and a message of wire/relay.h, what comes back is such a message. */
#include "transport/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/attachment_impl.h"

#define ANSWER_NSEC (5 * NSEC_PER_SEC) /* a node that does not answer for so long is no node */

enum { BUFFER_BYTES = 1024 * 1024 /* asked for */, SERVICE_SIZE = 2 };

/* ---- out ---- */

bool attachment_say(struct attachment *attachment, const struct relay_address *to, uint8_t kind,
                    const struct iovec *pieces, unsigned count)
{
    uint8_t head[SERVICE_SIZE + RELAY_HEAD_SIZE] = {RELAY_SERVICE >> 8, RELAY_SERVICE & 0xff};
    struct iovec all[1 + ATTACHMENT_PIECES_MAX];
    assert(count <= ATTACHMENT_PIECES_MAX);
    if (attachment->lost)
        return false;
    relay_write(&(struct relay_message){.operation = RELAY_DATA, .kind = kind, .to = *to},
                head + SERVICE_SIZE);
    all[0] = (struct iovec){head, sizeof head};
    for (unsigned i = 0; i < count; i++)
        all[1 + i] = pieces[i];
    struct msghdr message = {.msg_iov = all, .msg_iovlen = 1 + count};
    if (sendmsg(attachment->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return true;
    attachment->counts.refused++;
    return false;
}

void attachment_send(struct attachment *attachment, const struct relay_address *to,
                     const struct iovec *pieces, unsigned count)
{
    (void)attachment_say(attachment, to, RELAY_KIND_FRAME, pieces, count); /* counted */
}

/* ---- in ---- */

static void message_handle(struct attachment *attachment, const uint8_t *bytes, size_t size)
{
    struct relay_message message;
    attachment->counts.received++;
    if (relay_read(&message, bytes, size)) {
        attachment->counts.garbage++;
        return;
    }
    switch (message.operation) {
    case RELAY_DATA:
        if (message.kind == RELAY_KIND_LINE)
            lines_heard(attachment, &message);
        else if (message.kind == RELAY_KIND_FRAME && attachment->frame)
            attachment->frame(attachment->frame_owner, &message.from, message.body, message.size);
        return;
    case RELAY_ABSENT:
        lines_absent(attachment, &message.from);
        return;
    case RELAY_DOWN:
    case RELAY_UP:
        lines_server(attachment, message.from.server, message.operation == RELAY_UP);
        return;
    case RELAY_ATTACH:
    case RELAY_ATTACHED:
    case RELAY_OPERATION_END:
        attachment->counts.garbage++;
        return;
    }
}

/* The node is gone, and with it every way to others. */
static void attachment_lose(struct attachment *attachment)
{
    attachment->lost = true;
    poller_remove(attachment->poller, attachment->watch);
    attachment->watch = NULL;
    lines_lost(attachment);
}

int attachment_receive(struct attachment *attachment)
{
    struct mmsghdr messages[ATTACHMENT_BATCH];
    struct iovec pieces[ATTACHMENT_BATCH];
    if (attachment->lost)
        return 0;
    for (unsigned i = 0; i < ATTACHMENT_BATCH; i++) {
        pieces[i] = (struct iovec){attachment->buffers + i * RELAY_SIZE_MAX, RELAY_SIZE_MAX};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &pieces[i], .msg_iovlen = 1}};
    }
    int count = recvmmsg(attachment->fd, messages, ATTACHMENT_BATCH, MSG_DONTWAIT, NULL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            attachment_lose(attachment);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (messages[i].msg_len == 0) { /* no message is that short: the end */
            attachment_lose(attachment);
            return count;
        }
        if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
            attachment->counts.garbage++;
        else
            message_handle(attachment, pieces[i].iov_base, messages[i].msg_len);
    }
    return count;
}

static void attachment_ready(void *owner, uint32_t events)
{
    attachment_receive(owner);
}

void attachment_watch(struct attachment *attachment, bool on)
{
    if (attachment->lost || attachment->watched == on)
        return;
    int result = poller_change(attachment->poller, attachment->watch, on ? EPOLLIN : 0);
    assert(result == 0); /* it is in the set */
    attachment->watched = on;
}

/* ---- opening ---- */

/* A path may be longer than an address holds: then its folder is opened, and the address is by way
 * of that. */
static int path_address(const char *path, struct sockaddr_un *address, int *folder_fd)
{
    const char *slash = strrchr(path, '/');
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *folder_fd = -1;
    if (strlen(path) < sizeof address->sun_path) {
        memcpy(address->sun_path, path, strlen(path));
        return 0;
    }
    char *folder = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    if (!folder)
        return -ENAMETOOLONG;
    *folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int result = *folder_fd < 0 ? -errno : 0;
    free(folder);
    if (!result && snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d%s",
                            *folder_fd, slash) >= (int)sizeof address->sun_path)
        result = -ENAMETOOLONG;
    return result;
}

int node_connect(const char *path)
{
    struct sockaddr_un address;
    int bytes = BUFFER_BYTES, folder;
    int result = path_address(path, &address, &folder);
    int fd = result ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (!result && (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)))
        result = -errno;
    if (folder >= 0)
        close(folder);
    if (!result) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return result;
}

/* The one exchange that waits. */
static int address_get(struct attachment *attachment)
{
    uint8_t request[SERVICE_SIZE + RELAY_HEAD_SIZE] = {RELAY_SERVICE >> 8, RELAY_SERVICE & 0xff};
    uint8_t answer[RELAY_SIZE_MAX];
    struct relay_message message;
    relay_write(&(struct relay_message){.operation = RELAY_ATTACH}, request + SERVICE_SIZE);
    if (send(attachment->fd, request, sizeof request, MSG_NOSIGNAL) < 0)
        return -errno;
    for (nsec end = clock_after(ANSWER_NSEC); clock_now() < end;) {
        struct pollfd ready = {.fd = attachment->fd, .events = POLLIN};
        if (poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t size = recv(attachment->fd, answer, sizeof answer, 0);
        if (size <= 0)
            return size ? -errno : -ECONNREFUSED;
        if (relay_read(&message, answer, (size_t)size))
            return -EPROTO;
        if (message.operation != RELAY_ATTACHED)
            continue; /* a server went or came */
        attachment->address = message.to;
        return message.to.program ? 0 : -EUSERS;
    }
    return -ETIMEDOUT;
}

int attachment_open(struct attachment **out, struct poller *poller, const char *path,
                    struct why *why)
{
    struct attachment *attachment = array_new(1, sizeof *attachment);
    if (!attachment)
        return why_fail(why, -ENOMEM, "not enough memory");
    attachment->poller = poller;
    attachment->fd = -1;
    list_init(&attachment->lines);
    attachment->buffers = array_new(ATTACHMENT_BATCH, RELAY_SIZE_MAX);
    int result = attachment->buffers ? lines_open(attachment) : -ENOMEM;
    if (!result) {
        attachment->fd = node_connect(path);
        result = attachment->fd < 0 ? attachment->fd : address_get(attachment);
    }
    if (!result)
        result = poller_add(poller, attachment->fd, EPOLLIN, attachment_ready, attachment,
                            &attachment->watch);
    if (result) {
        attachment_close(attachment);
        return why_fail(why, result, "cannot attach to the node at %s: %s", path,
                        result == -EUSERS ? "too many programs" : strerror(-result));
    }
    attachment->watched = true;
    *out = attachment;
    return 0;
}

void attachment_close(struct attachment *attachment)
{
    if (!attachment)
        return;
    lines_close(attachment);
    poller_remove(attachment->poller, attachment->watch);
    if (attachment->fd >= 0)
        close(attachment->fd);
    free(attachment->buffers);
    free(attachment);
}

/* ---- the rest ---- */

void attachment_on_frame(struct attachment *attachment, attachment_frame *frame, void *owner)
{
    attachment->frame = frame;
    attachment->frame_owner = owner;
}

void attachment_on_line(struct attachment *attachment, attachment_accepted *accepted, void *owner)
{
    attachment->accepted = accepted;
    attachment->accepted_owner = owner;
}

struct relay_address attachment_address(const struct attachment *attachment)
{
    return attachment->address;
}

void attachment_count(const struct attachment *attachment, struct attachment_counts *counts)
{
    *counts = attachment->counts;
}
