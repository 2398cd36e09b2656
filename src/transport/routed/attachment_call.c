/* attachment_call: one attempt to connect to the node. attachment.c decides when, and what
 * follows. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/routed/attachment_impl.h"

#define ANSWER_NSEC    (5 * NSEC_PER_SEC)   /* how long a node may take to answer */
#define RETRY_NSEC     (50 * 1000 * 1000LL) /* first delay before connecting again ... */
#define RETRY_NSEC_MAX (1 * NSEC_PER_SEC)   /* ... and the longest delay */

enum { BUFFER_BYTES = 1024 * 1024 /* requested */ };

/* A path may be too long for a socket address: then its folder is opened, and the address refers to
 * the folder's descriptor. */
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
    *folder_fd = DESCRIPTOR_OPEN(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    int result = *folder_fd < 0 ? -errno : 0;
    free(folder);
    if (!result && snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d%s",
                            *folder_fd, slash) >= (int)sizeof address->sun_path)
        result = -ENAMETOOLONG;
    return result;
}

int node_connect(const char *path, bool wait)
{
    struct sockaddr_un address;
    int bytes = BUFFER_BYTES, folder;
    int result = path_address(path, &address, &folder);
    int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK);
    int fd = result ? -1 : DESCRIPTOR_OPEN(socket(AF_UNIX, type, 0));
    if (!result && (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)))
        result = -errno;
    if (folder >= 0)
        descriptor_close(folder);
    if (!result) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        return fd;
    }
    if (fd >= 0)
        descriptor_close(fd);
    return result;
}

nsec node_again(nsec *wait)
{
    nsec doubled = 2 * *wait < RETRY_NSEC_MAX ? 2 * *wait : RETRY_NSEC_MAX;
    *wait = *wait ? doubled : RETRY_NSEC;
    return clock_after(*wait);
}

/* ---- one attempt: 0 in progress, 1 done, or an error ---- */

static int address_ask(struct attachment *attachment)
{
    uint8_t packet[ATTACH_HEAD_SIZE + RELAY_HEAD_SIZE], *request = packet + ATTACH_HEAD_SIZE;
    const struct attach_head head = {.service = RELAY_SERVICE};
    const struct iovec piece = {request, RELAY_HEAD_SIZE};
    attach_head_write(&head, packet);
    relay_write(&(struct relay_message){.operation = RELAY_ATTACH}, request);
    attachment->stage = ATTACHMENT_ASKING;
    if (!attachment->channel)
        return send(attachment->fd, packet, sizeof packet, MSG_NOSIGNAL) < 0 ? -errno : 0;
    attachment_arm(attachment); /* first, so that the answer rings */
    return channel_say(attachment->channel, &head, &piece, 1);
}

int node_greet(int fd)
{
    uint8_t hello[ATTACH_ASK_SIZE];
    attach_ask_write(&(struct attach_ask){0}, hello);
    return send(fd, hello, sizeof hello, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int attachment_call(struct attachment *attachment, bool memory)
{
    int result = node_connect(attachment->path, attachment->waits);
    if (result < 0)
        return result;
    attachment->fd = result;
    result = poller_set(attachment->poller, &attachment->retry, clock_after(ANSWER_NSEC));
    assert(result == 0); /* the timer is set, or is firing now */
    result = poller_add(attachment->poller, attachment->fd, EPOLLIN, attachment->ready, attachment,
                        &attachment->watch);
    if (result)
        return result;
    attachment->stage = ATTACHMENT_OFFERING;
    if (memory && !channel_open(&attachment->offered, attachment->fd) &&
        !channel_offer(attachment->offered))
        return 0;
    channel_close(attachment->offered);
    attachment->offered = NULL;
    result = node_greet(attachment->fd);
    /* A node that refused us has hung up; its welcome, which says why, can still be read. */
    return result == -EPIPE || result == -ECONNRESET ? 0 : result;
}

void attachment_hang_up(struct attachment *attachment)
{
    poller_remove(attachment->poller, attachment->watch);
    channel_close(attachment->offered);
    channel_close(attachment->channel);
    if (attachment->fd >= 0)
        descriptor_close(attachment->fd);
    attachment->watch = NULL;
    attachment->offered = attachment->channel = NULL;
    attachment->fd = -1;
    attachment->stage = ATTACHMENT_GONE;
}

/* The node hung up, or did not answer: perhaps because of the memory. Connects again without. */
static int memory_refused(struct attachment *attachment)
{
    attachment_hang_up(attachment);
    return attachment_call(attachment, false);
}

/* Receives the next packet from the socket: returns its size, -EAGAIN if there is none, or an
 * error. */
static ssize_t socket_next(struct attachment *attachment, uint8_t bytes[ATTACHMENT_PACKET])
{
    ssize_t size;
    do
        size = recv(attachment->fd, bytes, ATTACHMENT_PACKET, MSG_DONTWAIT);
    while (size == 1); /* a ring of the bell */
    if (size < 0)
        return -errno;
    return size ? size : -ECONNREFUSED;
}

static int offer_step(struct attachment *attachment)
{
    uint8_t bytes[ATTACHMENT_PACKET];
    struct attach_answer welcome;
    ssize_t size = socket_next(attachment, bytes);
    if (size == -ECONNRESET) /* reported once; then what the node said before can be read */
        size = socket_next(attachment, bytes);
    if (size == -EAGAIN)
        return 0;
    if (size >= 0 && attach_answer_read(&welcome, bytes, (size_t)size))
        size = -EPROTO;
    if (size < 0)
        return attachment->offered ? memory_refused(attachment) : (int)size;
    if (welcome.status)
        return -welcome.status;
    if (attachment->offered && !welcome.memory) {
        channel_agree(attachment->offered);
        attachment->channel = attachment->offered;
        attachment->offered = NULL;
    }
    channel_close(attachment->offered);
    attachment->offered = NULL;
    return address_ask(attachment);
}

/* Receives a message of the relay from the channel or the socket; results as of socket_next, and
 * the message begins after the space for a head. */
static ssize_t message_next(struct attachment *attachment, uint8_t bytes[ATTACHMENT_PACKET])
{
    struct channel_message message;
    ssize_t size = socket_next(attachment, bytes);
    if (size >= 0) {
        bool valid = !attach_head_read(&message.head, bytes, (size_t)size) &&
                     attachment_is_relay(&message.head);
        return valid ? size - ATTACH_HEAD_SIZE : -EPROTO;
    }
    if (size != -EAGAIN || !attachment->channel)
        return size;
    attachment_arm(attachment); /* after taking the rings, before looking */
    int result = channel_take(attachment->channel, &message, bytes + ATTACH_HEAD_SIZE);
    if (result <= 0)
        return result ? result : -EAGAIN;
    return attachment_is_relay(&message.head) ? (ssize_t)message.size : -EPROTO;
}

static int ask_step(struct attachment *attachment)
{
    uint8_t answer[ATTACH_HEAD_SIZE + CHANNEL_MESSAGE_MAX];
    struct relay_message message;
    for (;;) {
        ssize_t size = message_next(attachment, answer);
        if (size < 0)
            return size == -EAGAIN ? 0 : (int)size;
        if (relay_read(&message, answer + ATTACH_HEAD_SIZE, (size_t)size))
            return -EPROTO;
        if (message.operation != RELAY_ATTACHED)
            continue; /* news about another server */
        attachment->address = message.to;
        return message.to.program ? 1 : -EUSERS;
    }
}

int attachment_call_step(struct attachment *attachment)
{
    return attachment->stage == ATTACHMENT_OFFERING ? offer_step(attachment) : ask_step(attachment);
}

/* Timeout without an answer. */
int attachment_call_late(struct attachment *attachment)
{
    return attachment->offered ? memory_refused(attachment) : -ETIMEDOUT;
}
