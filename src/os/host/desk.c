/* desk: clients stand in a fixed table. A client's number is its place and how often that was
 * taken, so an answer that comes late does not go to a stranger. */
#include "os/host/desk.h"

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
#include "transport/ring/channel.h"
#include "wire/attach.h"

enum {
    BACKLOG = 64,
    ACCEPT_MAX = 16,
    REQUESTS_MAX = 16,              /* of one look, so that one program cannot starve the rest */
    POLLS_MAX = 64,                 /* at the channel of a program that is gone: it holds no more */
    SEND_BUFFER_BYTES = 1024 * 1024 /* asked for: answers wait there until they are taken */
};

struct desk_client {
    struct desk *desk;
    struct poller_watch *watch;
    int fd; /* -1: free */
    uint32_t turn;
    bool broken;             /* its channel holds nonsense */
    struct channel *channel; /* NULL: it uses the socket */
    struct list node;        /* in desks->channels if it has one */
};
static_assert(DESK_REQUEST_MAX >= CHANNEL_MESSAGE_MAX, "a channel's message is a request");

struct desk {
    struct desks *desks;
    struct poller *poller;
    struct desk_events events;
    int fd;
    struct poller_watch *watch;
    struct sockaddr_un address;
    struct stat made; /* the socket under that name, as we made it */
    struct desk_client clients[DESK_CLIENTS_MAX];
    uint8_t bytes[DESK_REQUEST_MAX + 1];
};

static uint64_t client_number(const struct desk_client *client)
{
    return (uint64_t)client->turn << 32 | (uint64_t)(client - client->desk->clients);
}

static void client_end(struct desk_client *client)
{
    const struct desk_events *events = &client->desk->events;
    uint64_t number = client_number(client);
    poller_remove(client->desk->poller, client->watch);
    list_remove(&client->node);
    channel_close(client->channel);
    close(client->fd);
    client->watch = NULL;
    client->channel = NULL;
    client->fd = -1;
    client->turn++;
    events->gone(events->owner, number);
}

/* ---- by memory ---- */

/* The answer goes by the socket, and says where the next one goes. */
static int client_share(struct desk_client *client, size_t size, int file)
{
    struct desk *desk = client->desk;
    struct attach_ask ask;
    uint8_t answer[ATTACH_ANSWER_SIZE];
    int result = attach_ask_read(&ask, desk->bytes, size);
    if (client->channel)
        result = -EPROTO; /* again */
    if (!result && file < 0)
        result = -EOPNOTSUPP; /* descriptors do not pass here */
    if (!result)
        result = channel_map(&client->channel, file, &ask, client->fd); /* takes the file */
    else if (file >= 0)
        close(file);
    if (result == -EPROTO)
        return result;
    if (!result)
        list_append(&desk->desks->channels, &client->node);
    attach_answer_write((uint16_t)-result, answer);
    if (desk->events.shared)
        desk->events.shared(desk->events.owner, client_number(client), result);
    return send(client->fd, answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 1;
}

/* 1: another may follow; 0: none now; negative: the end. */
static int channel_request(struct desk_client *client)
{
    struct desk *desk = client->desk;
    struct channel_message message;
    int result = client->broken ? -EPROTO : channel_take(client->channel, &message, desk->bytes);
    if (result <= 0)
        return result;
    result = desk->events.request(desk->events.owner, message.kind, client_number(client),
                                  desk->bytes, message.size);
    return result < 0 ? result : 1;
}

static int client_poll(struct desk_client *client)
{
    int result = 1;
    for (unsigned i = 0; i < REQUESTS_MAX && result > 0; i++)
        result = channel_request(client);
    return result;
}

void desks_init(struct desks *desks)
{
    list_init(&desks->channels);
}

void desks_poll(struct desks *desks)
{
    list_each(&desks->channels, node)
    {
        struct desk_client *client = container_of(node, struct desk_client, node);
        if (client_poll(client) < 0)
            client_end(client);
    }
}

bool desks_waiting(const struct desks *desks)
{
    list_each(&desks->channels, node)
    {
        const struct desk_client *client = container_of(node, struct desk_client, node);
        if (client->broken || channel_waiting(client->channel))
            return true;
    }
    return false;
}

void desks_arm(struct desks *desks)
{
    list_each(&desks->channels, node)
        channel_arm(container_of(node, struct desk_client, node)->channel);
}

void desks_disarm(struct desks *desks)
{
    list_each(&desks->channels, node)
        channel_disarm(container_of(node, struct desk_client, node)->channel);
}

/* ---- by the socket ---- */

/* As channel_request. A ring of its bell says only that we are awake, and shall look. */
static int client_take(struct desk_client *client)
{
    struct desk *desk = client->desk;
    int file;
    ssize_t size = channel_recv(client->fd, desk->bytes, sizeof desk->bytes, &file);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    struct reader in = reader_make(desk->bytes, (size_t)size);
    uint16_t service = read_u16(&in);
    if (!in.failed && service == ATTACH_SERVICE)
        return client_share(client, (size_t)size, file);
    if (file >= 0)
        close(file);
    if (size == 1 && client->channel)
        return 0;
    if (!size)
        return -EPIPE;
    if (in.failed || size > DESK_REQUEST_MAX)
        return -EPROTO;
    int result = desk->events.request(desk->events.owner, service, client_number(client), in.next,
                                      (uint32_t)in.left);
    return result < 0 ? result : 1;
}

static void client_ready(void *owner, uint32_t events)
{
    struct desk_client *client = owner;
    int result = 1;
    for (unsigned i = 0; i < REQUESTS_MAX && result > 0; i++)
        result = client_take(client);
    if (result >= 0)
        return;
    /* What it said before it went is heard. */
    for (unsigned i = 0; client->channel && result != -EPROTO && i < POLLS_MAX; i++)
        if (client_poll(client) <= 0)
            break;
    client_end(client);
}

static void client_begin(struct desk *desk, int fd)
{
    int bytes = SEND_BUFFER_BYTES;
    for (unsigned i = 0; i < DESK_CLIENTS_MAX; i++) {
        struct desk_client *client = &desk->clients[i];
        if (client->fd >= 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        if (poller_add(desk->poller, fd, EPOLLIN | EPOLLRDHUP, client_ready, client,
                       &client->watch))
            break;
        client->fd = fd;
        client->broken = false;
        return;
    }
    close(fd); /* too many */
}

static void desk_ready(void *owner, uint32_t events)
{
    struct desk *desk = owner;
    for (unsigned i = 0; i < ACCEPT_MAX; i++) {
        int fd = accept4(desk->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        client_begin(desk, fd);
    }
}

int desk_answer(struct desk *desk, uint64_t number, const void *bytes, uint32_t size)
{
    uint32_t place = (uint32_t)number;
    if (place >= DESK_CLIENTS_MAX)
        return -EPIPE;
    struct desk_client *client = &desk->clients[place];
    if (client->fd < 0 || client_number(client) != number)
        return -EPIPE;
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    int result = client->channel ? channel_say(client->channel, 0, &piece, 1) : -EMSGSIZE;
    client->broken |= result == -EPROTO; /* and it ends when it is looked at */
    if (result == -EMSGSIZE)
        result = send(client->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
    if (!result)
        return 0;
    return result == -EAGAIN || result == -ENOBUFS ? -EAGAIN : -EPIPE;
}

static int desk_listen(struct desk *desk)
{
    (void)unlink(desk->address.sun_path);
    desk->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (desk->fd < 0 || bind(desk->fd, (struct sockaddr *)&desk->address, sizeof desk->address) ||
        listen(desk->fd, BACKLOG) || stat(desk->address.sun_path, &desk->made))
        return -errno;
    return poller_add(desk->poller, desk->fd, EPOLLIN, desk_ready, desk, &desk->watch);
}

int desk_open(struct desk **out, struct desks *desks, struct poller *poller, const char *folder,
              uint32_t server, const struct desk_events *events, struct why *why)
{
    struct desk *desk = array_new(1, sizeof *desk);
    if (!desk)
        return why_fail(why, -ENOMEM, "not enough memory");
    desk->desks = desks;
    desk->poller = poller;
    desk->events = *events;
    desk->fd = -1;
    desk->address.sun_family = AF_UNIX;
    for (unsigned i = 0; i < DESK_CLIENTS_MAX; i++) {
        desk->clients[i].desk = desk;
        desk->clients[i].fd = -1;
        list_init(&desk->clients[i].node);
    }
    int size = snprintf(desk->address.sun_path, sizeof desk->address.sun_path, "%s/node-%u.socket",
                        folder, server);
    int result = size < (int)sizeof desk->address.sun_path ? desk_listen(desk) : -ENAMETOOLONG;
    if (result) {
        why_set(why, "cannot listen on %s: %s", desk->address.sun_path, strerror(-result));
        desk_close(desk);
        return result;
    }
    *out = desk;
    return 0;
}

/* Not the socket of another who took our name after the folder was removed. Ours is still open, so
 * that nobody has its number. */
static void name_remove(const struct desk *desk)
{
    struct stat named;
    if (!stat(desk->address.sun_path, &named) && named.st_dev == desk->made.st_dev &&
        named.st_ino == desk->made.st_ino)
        (void)unlink(desk->address.sun_path);
}

void desk_close(struct desk *desk)
{
    if (!desk)
        return;
    for (unsigned i = 0; i < DESK_CLIENTS_MAX; i++)
        if (desk->clients[i].fd >= 0)
            client_end(&desk->clients[i]);
    if (desk->watch) {
        poller_remove(desk->poller, desk->watch);
        name_remove(desk);
    }
    if (desk->fd >= 0)
        close(desk->fd);
    free(desk);
}
