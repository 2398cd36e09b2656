/* desk: clients stand in a fixed table. A client's number is its place and how often that was
 * taken, so an answer that comes late does not go to a stranger. */
#include "os/desk.h"

#include <errno.h>
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

enum {
    BACKLOG = 64,
    ACCEPT_MAX = 16,
    REQUESTS_MAX = 16, /* of one readiness, so that one program cannot starve the rest */
    SEND_BUFFER_BYTES = 1024 * 1024 /* asked for: answers wait there until they are taken */
};

struct desk_client {
    struct desk *desk;
    struct poller_watch *watch;
    int fd; /* -1: free */
    uint32_t turn;
};

struct desk {
    struct poller *poller;
    struct desk_events events;
    uint64_t dropped;
    int fd;
    struct poller_watch *watch;
    struct sockaddr_un address;
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
    close(client->fd);
    client->watch = NULL;
    client->fd = -1;
    client->turn++;
    events->gone(events->owner, number);
}

/* 1: another may follow; 0: none now; negative: the end. */
static int client_take(struct desk_client *client)
{
    struct desk *desk = client->desk;
    ssize_t size = recv(client->fd, desk->bytes, sizeof desk->bytes, MSG_DONTWAIT);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (size < 2 || size > DESK_REQUEST_MAX)
        return -EPROTO;
    struct reader in = reader_make(desk->bytes, (size_t)size);
    uint16_t service = read_u16(&in);
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
    if (result < 0)
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

void desk_answer(struct desk *desk, uint64_t number, const void *bytes, uint32_t size)
{
    uint32_t place = (uint32_t)number;
    if (place >= DESK_CLIENTS_MAX)
        return;
    struct desk_client *client = &desk->clients[place];
    if (client->fd < 0 || client_number(client) != number)
        return;
    if (send(client->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        desk->dropped++; /* if it is gone, its end is noticed by itself */
}

static int desk_listen(struct desk *desk)
{
    (void)unlink(desk->address.sun_path);
    desk->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (desk->fd < 0 || bind(desk->fd, (struct sockaddr *)&desk->address, sizeof desk->address) ||
        listen(desk->fd, BACKLOG))
        return -errno;
    return poller_add(desk->poller, desk->fd, EPOLLIN, desk_ready, desk, &desk->watch);
}

int desk_open(struct desk **out, struct poller *poller, const char *folder, uint32_t server,
              const struct desk_events *events, struct why *why)
{
    struct desk *desk = array_new(1, sizeof *desk);
    if (!desk)
        return why_fail(why, -ENOMEM, "not enough memory");
    desk->poller = poller;
    desk->events = *events;
    desk->fd = -1;
    desk->address.sun_family = AF_UNIX;
    for (unsigned i = 0; i < DESK_CLIENTS_MAX; i++) {
        desk->clients[i].desk = desk;
        desk->clients[i].fd = -1;
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

uint64_t desk_dropped(const struct desk *desk)
{
    return desk->dropped;
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
        (void)unlink(desk->address.sun_path);
    }
    if (desk->fd >= 0)
        close(desk->fd);
    free(desk);
}
