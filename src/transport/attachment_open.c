/* attachment_open: how an attachment begins and ends. A program offers its node shared memory; if
 * the node does not take it, all goes by the socket. */
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
#include "base/check.h"
#include "transport/attachment_impl.h"

#define ANSWER_NSEC (5 * NSEC_PER_SEC) /* a node that does not answer for so long is no node */

enum { BUFFER_BYTES = 1024 * 1024 /* asked for */, SERVICE_SIZE = 2 };

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

/* ---- exchanges that wait ---- */

/* The next message of the node. */
static ssize_t message_wait(struct attachment *attachment, uint8_t bytes[CHANNEL_MESSAGE_MAX])
{
    for (nsec end = clock_after(ANSWER_NSEC); clock_now() < end;) {
        struct pollfd ready = {.fd = attachment->fd, .events = POLLIN};
        struct channel_message message;
        if (attachment->channel) {
            channel_arm(attachment->channel);
            channel_fence(attachment->channel);
            int result = channel_take(attachment->channel, &message, bytes);
            if (result)
                return result < 0 ? result : (ssize_t)message.size;
        }
        if (poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t size = recv(attachment->fd, bytes, CHANNEL_MESSAGE_MAX, 0);
        if (size <= 0)
            return size ? -errno : -ECONNREFUSED;
        if (size > 1) /* else the bell */
            return size;
    }
    return -ETIMEDOUT;
}

static int memory_offer(struct attachment *attachment, struct channel *channel)
{
    uint8_t answer[CHANNEL_MESSAGE_MAX];
    uint16_t status;
    int result = channel_offer(channel);
    ssize_t size = result ? result : message_wait(attachment, answer);
    if (size < 0)
        return (int)size;
    result = attach_answer_read(&status, answer, (size_t)size);
    return result ? result : -status;
}

/* Memory where it can be had. A node that refuses may also have hung up: it is called once more. */
static int memory_get(struct attachment *attachment, const char *path)
{
    struct channel *channel;
    if (channel_open(&channel, attachment->fd))
        return 0;
    int result = memory_offer(attachment, channel);
    if (!result) {
        channel_agree(channel);
        attachment->channel = channel;
        return 0;
    }
    channel_close(channel);
    close(attachment->fd);
    attachment->fd = node_connect(path);
    return attachment->fd < 0 ? attachment->fd : 0;
}

static int address_ask(struct attachment *attachment)
{
    uint8_t request[SERVICE_SIZE + RELAY_HEAD_SIZE] = {RELAY_SERVICE >> 8, RELAY_SERVICE & 0xff};
    const struct iovec piece = {request + SERVICE_SIZE, RELAY_HEAD_SIZE};
    relay_write(&(struct relay_message){.operation = RELAY_ATTACH}, request + SERVICE_SIZE);
    if (attachment->channel)
        return channel_say(attachment->channel, RELAY_SERVICE, &piece, 1);
    return send(attachment->fd, request, sizeof request, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int address_get(struct attachment *attachment)
{
    uint8_t answer[CHANNEL_MESSAGE_MAX];
    struct relay_message message;
    int result = address_ask(attachment);
    if (result)
        return result;
    for (;;) {
        ssize_t size = message_wait(attachment, answer);
        if (size < 0)
            return (int)size;
        if (relay_read(&message, answer, (size_t)size))
            return -EPROTO;
        if (message.operation != RELAY_ATTACHED)
            continue; /* a server went or came */
        attachment->address = message.to;
        return message.to.program ? 0 : -EUSERS;
    }
}

/* ---- beginning and end ---- */

static int attachment_begin(struct attachment *attachment, const char *path)
{
    attachment->again = (struct poller_timer){.fired = attachment_again, .owner = attachment};
    int result = poller_set(attachment->poller, &attachment->again, ATTACHMENT_FAR);
    if (!result)
        result = lines_open(attachment);
    if (result)
        return result;
    attachment->fd = node_connect(path);
    result = attachment->fd < 0 ? attachment->fd : memory_get(attachment, path);
    if (!result)
        result = address_get(attachment);
    if (!result)
        result = poller_add(attachment->poller, attachment->fd, EPOLLIN, attachment_ready,
                            attachment, &attachment->watch);
    if (!result)
        attachment_watch(attachment, true);
    return result;
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
    int result = attachment->buffers ? attachment_begin(attachment, path) : -ENOMEM;
    if (result) {
        attachment_close(attachment);
        return why_fail(why, result, "cannot attach to the node at %s: %s", path,
                        result == -EUSERS ? "too many programs" : strerror(-result));
    }
    *out = attachment;
    return 0;
}

void attachment_close(struct attachment *attachment)
{
    if (!attachment)
        return;
    lines_close(attachment);
    poller_unset(attachment->poller, &attachment->again);
    poller_remove(attachment->poller, attachment->watch);
    channel_close(attachment->channel);
    if (attachment->fd >= 0)
        close(attachment->fd);
    free(attachment->buffers);
    free(attachment);
}
