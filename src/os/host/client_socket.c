/* client_socket: which programs may attach, and when.
 *
 * At most clients_max programs are attached to a server, and to all servers of this process
 * together at most as many as its descriptors allow. When an eighth of either limit is left, only
 * programs with few connections are accepted, so that a program that attaches thousands of times
 * does not keep the others out. A program that is refused gets a welcome with an errno.
 *
 * When no descriptor is left for a connection, the spare descriptor is closed to make room for it,
 * and the connection is refused. If even that fails, the socket is not watched for a while, because
 * it stays readable and would wake the host again and again. */
#include "os/host/client_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "os/host/client_impl.h"

enum {
    BACKLOG = 1024,
    ACCEPT_MAX = 16,
    DESCRIPTORS_KEPT = 256, /* for links, logs and services */
    DESCRIPTORS_LEAST = 64, /* programs that are accepted even if few descriptors are allowed */
    CROWD_SHARE = 16,       /* connections of one process when nearly all are in use */
};
#define RETRY_NSEC (100 * 1000 * 1000LL)

/* ---- all sockets of a host ---- */

static uint32_t descriptors_most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT32_MAX;
    if (limit.rlim_cur < DESCRIPTORS_KEPT + DESCRIPTORS_LEAST)
        return DESCRIPTORS_LEAST;
    return limit.rlim_cur < UINT32_MAX ? (uint32_t)limit.rlim_cur - DESCRIPTORS_KEPT : UINT32_MAX;
}

static int spare_open(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int client_sockets_open(struct client_sockets *all)
{
    *all = (struct client_sockets){.most = descriptors_most(), .spare = spare_open()};
    list_init(&all->channels);
    list_init(&all->resting);
    list_init(&all->blocked);
    list_init(&all->unheard);
    all->bytes = array_new(ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX + 1, 1);
    return all->bytes ? 0 : -ENOMEM;
}

void client_sockets_close(struct client_sockets *all)
{
    if (!all->bytes)
        return;
    assert(!all->count);
    free(all->bytes);
    all->bytes = NULL;
    if (all->spare >= 0)
        close(all->spare);
}

/* ---- accepting ---- */

static int process_of(int fd)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) ? 0 : (int)who.pid;
}

static uint32_t process_count(const struct client_socket *listener, int process)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < listener->table.entry_count; i++) {
        const struct client *client = listener->table.entries[i].client;
        count += client && client->process == process;
    }
    return count;
}

static bool is_crowded(uint32_t count, uint32_t most)
{
    return count >= most - most / 8;
}

/* Returns 0, or a negative errno: why that process gets no connection. */
static int admit(const struct client_socket *listener, int process)
{
    const struct client_sockets *all = listener->all;
    uint32_t count = listener->table.client_count, most = listener->clients_max;
    if (count >= most)
        return -EUSERS;
    if (all->count >= all->most)
        return -EMFILE;
    bool crowded = is_crowded(count, most) || is_crowded(all->count, all->most);
    return crowded && process_count(listener, process) >= CROWD_SHARE ? -EUSERS : 0;
}

/* Accepts one connection, and attaches or refuses the program. Returns false if there was none. */
static bool accept_next(struct client_socket *listener, int refusal)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    int process = process_of(fd);
    int result = refusal ? refusal : admit(listener, process);
    if (!result)
        result = client_begin(listener, fd, process);
    if (result) {
        client_refuse(listener, fd, result);
        close(fd);
    }
    return true;
}

/* No descriptor is left: refuses one program by means of the spare descriptor, or pauses. */
static void listener_pause(struct client_socket *listener)
{
    struct client_sockets *all = listener->all;
    bool refused = false;
    if (all->spare >= 0) {
        close(all->spare);
        refused = accept_next(listener, -EMFILE);
        all->spare = spare_open();
    }
    if (refused)
        return; /* the next one is refused in the next step */
    poller_ignore(listener->poller, listener->watch);
    int result = poller_set(listener->poller, &listener->retry, clock_after(RETRY_NSEC));
    assert(result == 0); /* setting a timer that is set cannot fail */
}

static void listener_retry(void *owner)
{
    struct client_socket *listener = owner;
    bool again = poller_change(listener->poller, listener->watch, EPOLLIN) == 0;
    if (again && listener->all->spare < 0)
        listener->all->spare = spare_open();
    int result =
        poller_set(listener->poller, &listener->retry, again ? NSEC_FAR : clock_after(RETRY_NSEC));
    assert(result == 0); /* the timer fired just now, so its slot is free */
}

static void listener_ready(void *owner, uint32_t events)
{
    struct client_socket *listener = owner;
    for (unsigned i = 0; i < ACCEPT_MAX; i++) {
        if (accept_next(listener, 0))
            continue;
        bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (lacks)
            listener_pause(listener);
        return;
    }
}

int client_socket_answer(struct client_socket *listener, const struct env_answer *to,
                         const void *bytes, uint32_t size)
{
    struct client *client = client_table_find(&listener->table, to->client);
    const struct attach_head head = {.service = to->service, .ticket = to->ticket};
    return client ? client_say(client, &head, bytes, size) : -EPIPE;
}

/* ---- opening and closing ---- */

static int listen_begin(struct client_socket *listener)
{
    (void)unlink(listener->address.sun_path);
    listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0 ||
        bind(listener->fd, (struct sockaddr *)&listener->address, sizeof listener->address) ||
        listen(listener->fd, BACKLOG) || stat(listener->address.sun_path, &listener->made))
        return -errno;
    int result = poller_set(listener->poller, &listener->retry, NSEC_FAR);
    if (result)
        return result;
    return poller_add(listener->poller, listener->fd, EPOLLIN, listener_ready, listener,
                      &listener->watch);
}

int client_socket_open(struct client_socket **out, struct client_sockets *all,
                       struct poller *poller, const struct client_socket_config *config,
                       struct why *why)
{
    struct client_socket *listener = array_new(1, sizeof *listener);
    if (!listener)
        return why_fail(why, -ENOMEM, "not enough memory");
    listener->all = all;
    listener->poller = poller;
    listener->events = config->events;
    listener->server = config->server;
    listener->clients_max = config->clients_max ? config->clients_max : CLIENT_SOCKET_CLIENTS_MAX;
    listener->fd = -1;
    listener->retry = (struct poller_timer){.fired = listener_retry, .owner = listener};
    listener->address.sun_family = AF_UNIX;
    client_table_init(&listener->table);
    int size = snprintf(listener->address.sun_path, sizeof listener->address.sun_path,
                        "%s/node-%u.socket", config->folder, config->server);
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
    for (uint32_t i = 0; i < listener->table.entry_count; i++)
        if (listener->table.entries[i].client)
            client_end(listener->table.entries[i].client);
    client_table_fini(&listener->table);
    poller_unset(listener->poller, &listener->retry);
    if (listener->watch) {
        poller_remove(listener->poller, listener->watch);
        name_remove(listener);
    }
    if (listener->fd >= 0)
        close(listener->fd);
    free(listener);
}
