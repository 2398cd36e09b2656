/* client_socket: clients are in a fixed table. A client's number consists of its index there and of
 * how often that entry was used before, so that a late answer does not go to the next client. */
#include "os/host/client_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/ring/channel.h"
#include "wire/attach.h"

enum {
    BACKLOG = 64,
    ACCEPT_MAX = 16,
    REQUESTS_MAX = 16,              /* per poll, so that one program cannot starve the rest */
    POLLS_MAX = 64,                 /* of a disconnected client's channel: enough to empty it */
    SEND_BUFFER_BYTES = 1024 * 1024 /* we ask for it: unread answers wait there */
};

struct socket_client {
    struct client_socket *listener;
    struct poller_watch *watch;
    int fd; /* -1: free */
    uint32_t turn;
    bool broken;             /* its channel holds malformed data */
    struct channel *channel; /* NULL: it uses the socket */
    struct list node;        /* in client_sockets.channels if `channel` is set */
};
static_assert(CLIENT_SOCKET_REQUEST_MAX >= CHANNEL_MESSAGE_MAX, "a channel's message is a request");

struct client_socket {
    struct client_sockets *all;
    struct poller *poller;
    struct client_socket_events events;
    int fd;
    struct poller_watch *watch;
    struct sockaddr_un address;
    struct stat made; /* identifies the socket that we made under that name */
    struct socket_client clients[CLIENT_SOCKET_CLIENTS_MAX];
    uint8_t bytes[CLIENT_SOCKET_REQUEST_MAX + 1];
};

static uint64_t client_number(const struct socket_client *client)
{
    return (uint64_t)client->turn << 32 | (uint64_t)(client - client->listener->clients);
}

static void client_end(struct socket_client *client)
{
    const struct client_socket_events *events = &client->listener->events;
    uint64_t number = client_number(client);
    poller_remove(client->listener->poller, client->watch);
    list_remove(&client->node);
    channel_close(client->channel);
    close(client->fd);
    client->watch = NULL;
    client->channel = NULL;
    client->fd = -1;
    client->turn++;
    events->gone(events->owner, number);
}

/* ---- through memory ---- */

/* Handles the request for a channel. The answer to it still goes through the socket; if it is
 * positive, later answers go through the channel. */
static int client_share(struct socket_client *client, size_t size, int file)
{
    struct client_socket *listener = client->listener;
    struct attach_ask ask;
    uint8_t answer[ATTACH_ANSWER_SIZE];
    int result = attach_ask_read(&ask, listener->bytes, size);
    if (client->channel)
        result = -EPROTO; /* the client has a channel already */
    if (!result && file < 0)
        result = -EOPNOTSUPP; /* descriptors cannot be passed here */
    if (!result)
        result = channel_map(&client->channel, file, &ask, client->fd); /* owns the file now */
    else if (file >= 0)
        descriptor_close(file);
    if (result == -EPROTO)
        return result;
    if (!result)
        list_append(&listener->all->channels, &client->node);
    attach_answer_write((uint16_t)-result, answer);
    if (listener->events.shared)
        listener->events.shared(listener->events.owner, client_number(client), result);
    return send(client->fd, answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 1;
}

/* Handles one request. Returns 1 if more may follow, 0 if there was none, negative to disconnect
 * the client. */
static int channel_request(struct socket_client *client)
{
    struct client_socket *listener = client->listener;
    struct channel_message message;
    int result =
        client->broken ? -EPROTO : channel_take(client->channel, &message, listener->bytes);
    if (result <= 0)
        return result;
    result = listener->events.request(listener->events.owner, message.kind, client_number(client),
                                      listener->bytes, message.size);
    return result < 0 ? result : 1;
}

static int client_poll(struct socket_client *client)
{
    int result = 1;
    for (unsigned i = 0; i < REQUESTS_MAX && result > 0; i++)
        result = channel_request(client);
    return result;
}

void client_sockets_init(struct client_sockets *all)
{
    list_init(&all->channels);
}

void client_sockets_poll(struct client_sockets *all)
{
    list_each(&all->channels, node)
    {
        struct socket_client *client = container_of(node, struct socket_client, node);
        if (client_poll(client) < 0)
            client_end(client);
    }
}

bool client_sockets_waiting(const struct client_sockets *all)
{
    list_each(&all->channels, node)
    {
        const struct socket_client *client = container_of(node, struct socket_client, node);
        if (client->broken || channel_waiting(client->channel))
            return true;
    }
    return false;
}

void client_sockets_arm(struct client_sockets *all)
{
    list_each(&all->channels, node)
        channel_arm(container_of(node, struct socket_client, node)->channel);
}

void client_sockets_disarm(struct client_sockets *all)
{
    list_each(&all->channels, node)
        channel_disarm(container_of(node, struct socket_client, node)->channel);
}

/* ---- through the socket ---- */

/* Returns the same as channel_request. A packet of one byte is a ring of the channel's bell: it has
 * only woken this process, and client_sockets_poll reads the channel. */
static int client_take(struct socket_client *client)
{
    struct client_socket *listener = client->listener;
    int file;
    ssize_t size = channel_recv(client->fd, listener->bytes, sizeof listener->bytes, &file);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    struct reader in = reader_make(listener->bytes, (size_t)size);
    uint16_t service = read_u16(&in);
    if (!in.failed && service == ATTACH_SERVICE)
        return client_share(client, (size_t)size, file);
    if (file >= 0)
        descriptor_close(file);
    if (size == 1 && client->channel)
        return 0;
    if (!size)
        return -EPIPE;
    if (in.failed || size > CLIENT_SOCKET_REQUEST_MAX)
        return -EPROTO;
    listener->all->asked = true;
    int result = listener->events.request(listener->events.owner, service, client_number(client),
                                          in.next, (uint32_t)in.left);
    return result < 0 ? result : 1;
}

static void client_ready(void *owner, uint32_t events)
{
    struct socket_client *client = owner;
    int result = 1;
    for (unsigned i = 0; i < REQUESTS_MAX && result > 0; i++)
        result = client_take(client);
    if (result >= 0)
        return;
    /* Requests that the client put into its channel before it disconnected are still handled. */
    for (unsigned i = 0; client->channel && result != -EPROTO && i < POLLS_MAX; i++)
        if (client_poll(client) <= 0)
            break;
    client_end(client);
}

static void client_begin(struct client_socket *listener, int fd)
{
    int bytes = SEND_BUFFER_BYTES;
    for (unsigned i = 0; i < CLIENT_SOCKET_CLIENTS_MAX; i++) {
        struct socket_client *client = &listener->clients[i];
        if (client->fd >= 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        if (poller_add(listener->poller, fd, EPOLLIN | EPOLLRDHUP, client_ready, client,
                       &client->watch))
            break;
        client->fd = fd;
        client->broken = false;
        return;
    }
    close(fd); /* too many clients, or poller_add failed */
}

static void listener_ready(void *owner, uint32_t events)
{
    struct client_socket *listener = owner;
    for (unsigned i = 0; i < ACCEPT_MAX; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        client_begin(listener, fd);
    }
}

int client_socket_answer(struct client_socket *listener, uint64_t number, const void *bytes,
                         uint32_t size)
{
    uint32_t index = (uint32_t)number;
    if (index >= CLIENT_SOCKET_CLIENTS_MAX)
        return -EPIPE;
    struct socket_client *client = &listener->clients[index];
    if (client->fd < 0 || client_number(client) != number)
        return -EPIPE;
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    int result = client->channel ? channel_say(client->channel, 0, &piece, 1) : -EMSGSIZE;
    client->broken |= result == -EPROTO; /* the next poll disconnects the client */
    if (result == -EMSGSIZE)
        result = send(client->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
    if (!result)
        return 0;
    return result == -EAGAIN || result == -ENOBUFS ? -EAGAIN : -EPIPE;
}

static int listen_begin(struct client_socket *listener)
{
    (void)unlink(listener->address.sun_path);
    listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0 ||
        bind(listener->fd, (struct sockaddr *)&listener->address, sizeof listener->address) ||
        listen(listener->fd, BACKLOG) || stat(listener->address.sun_path, &listener->made))
        return -errno;
    return poller_add(listener->poller, listener->fd, EPOLLIN, listener_ready, listener,
                      &listener->watch);
}

int client_socket_open(struct client_socket **out, struct client_sockets *all,
                       struct poller *poller, const char *folder, uint32_t server,
                       const struct client_socket_events *events, struct why *why)
{
    struct client_socket *listener = array_new(1, sizeof *listener);
    if (!listener)
        return why_fail(why, -ENOMEM, "not enough memory");
    listener->all = all;
    listener->poller = poller;
    listener->events = *events;
    listener->fd = -1;
    listener->address.sun_family = AF_UNIX;
    for (unsigned i = 0; i < CLIENT_SOCKET_CLIENTS_MAX; i++) {
        listener->clients[i].listener = listener;
        listener->clients[i].fd = -1;
        list_init(&listener->clients[i].node);
    }
    int size = snprintf(listener->address.sun_path, sizeof listener->address.sun_path,
                        "%s/node-%u.socket", folder, server);
    int result =
        size < (int)sizeof listener->address.sun_path ? listen_begin(listener) : -ENAMETOOLONG;
    if (result) {
        why_set(why, "cannot listen on %s: %s", listener->address.sun_path, strerror(-result));
        client_socket_close(listener);
        return result;
    }
    *out = listener;
    return 0;
}

/* If the folder was removed and made again, another process may have a socket under our name; that
 * socket stays. Our own socket is still open, so no other has its inode number. */
static void name_remove(const struct client_socket *listener)
{
    struct stat named;
    if (!stat(listener->address.sun_path, &named) && named.st_dev == listener->made.st_dev &&
        named.st_ino == listener->made.st_ino)
        (void)unlink(listener->address.sun_path);
}

void client_socket_close(struct client_socket *listener)
{
    if (!listener)
        return;
    for (unsigned i = 0; i < CLIENT_SOCKET_CLIENTS_MAX; i++)
        if (listener->clients[i].fd >= 0)
            client_end(&listener->clients[i]);
    if (listener->watch) {
        poller_remove(listener->poller, listener->watch);
        name_remove(listener);
    }
    if (listener->fd >= 0)
        close(listener->fd);
    free(listener);
}
