/* watched: one descriptor: watching it, what it is ready for, reading and writing. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "os/descriptor/descriptors_impl.h"

#define EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
#define HANGS  (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

static struct watched *watched_of(const struct env_descriptor *env)
{
    return env->world;
}

/* ---- readiness ---- */

void watched_ready(struct watched *watched, unsigned ready)
{
    struct descriptors *all = watched->all;
    watched->ready |= (uint8_t)ready;
    if (!(watched->ready & watched->env->wants) || !list_is_empty(&watched->node))
        return;
    if (watched == all->current)
        return; /* the pass looks at it after its turn */
    all->heard = true;
    list_append(&all->queue, &watched->node);
}

void watched_changed(struct env_descriptor *env)
{
    watched_ready(watched_of(env), 0);
}

static void on_events(void *owner, uint32_t events)
{
    struct watched *watched = owner;
    unsigned ready = 0;
    watched->hung |= (events & HANGS) != 0;
    if (events & (EPOLLIN | HANGS))
        ready |= ENV_READ;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        ready |= ENV_WRITE;
    watched_ready(watched, ready);
}

/* ---- opening and closing ---- */

int watched_open(struct descriptors *all, void *owner, struct env_descriptor *env, int fd,
                 enum watched_kind kind)
{
    if (all->count >= all->most)
        return -EMFILE;
    struct watched *watched = array_new(1, sizeof *watched);
    if (!watched)
        return -ENOMEM;
    *watched =
        (struct watched){.all = all, .env = env, .owner = owner, .fd = fd, .kind = (uint8_t)kind};
    list_init(&watched->node);
    env->world = watched; /* before it is watched: the first event may come at once */
    int result = poller_add(all->poller, fd, EVENTS, on_events, watched, &watched->watch);
    if (result) {
        env->world = NULL;
        free(watched);
        return result;
    }
    all->count++;
    return 0;
}

bool watched_adopt(struct watched *watched)
{
    struct stat status;
    if (fstat(watched->fd, &status))
        return false;
    watched->adopted = true;
    watched->device = status.st_dev;
    watched->inode = status.st_ino;
    return true;
}

/* A service may have closed a descriptor that it gave us. Its number may belong to another file
 * since, of which we must not touch anything. */
static bool is_open(const struct watched *watched)
{
    struct stat status;
    return !watched->adopted || (!fstat(watched->fd, &status) && status.st_dev == watched->device &&
                                 status.st_ino == watched->inode);
}

bool watched_close(struct env_descriptor *env)
{
    struct watched *watched = watched_of(env);
    struct descriptors *all = watched->all;
    bool open = is_open(watched);
    if (all->current == watched)
        all->current = NULL;
    list_remove(&watched->node);
    poller_unset(all->poller, &watched->retry);
    if (open) {
        poller_remove(all->poller, watched->watch);
        close(watched->fd);
    } else {
        poller_lose(all->poller, watched->watch);
    }
    env->world = NULL;
    free(watched);
    all->count--;
    return open;
}

/* ---- bytes ---- */

static ssize_t bytes_read(const struct watched *watched, void *bytes, uint32_t size)
{
    ssize_t count;
    do
        count = watched->kind == WATCHED_SOCKET ? recv(watched->fd, bytes, size, MSG_DONTWAIT)
                                                : read(watched->fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

int64_t watched_read(struct env_descriptor *env, void *bytes, uint32_t size)
{
    struct watched *watched = watched_of(env);
    ssize_t count = bytes_read(watched, bytes, size);
    int error = count < 0 ? errno : 0;
    if (error == EAGAIN)
        watched->ready &= (uint8_t)~ENV_READ;
    /* A stream socket that returns fewer bytes than asked for is empty, and epoll reports the next
     * bytes. But epoll does not report an end again that it has reported before. */
    if (count > 0 && count < size && watched->kind == WATCHED_SOCKET && !watched->hung)
        watched->ready &= (uint8_t)~ENV_READ;
    return error ? -error : count;
}

int64_t watched_write(struct env_descriptor *env, const void *bytes, uint32_t size)
{
    struct watched *watched = watched_of(env);
    ssize_t count;
    do
        count = watched->kind == WATCHED_SOCKET
                    ? send(watched->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : write(watched->fd, bytes, size);
    while (count < 0 && errno == EINTR);
    int error = count < 0 ? errno : 0;
    if (error == EAGAIN || (count >= 0 && count < size))
        watched->ready &= (uint8_t)~ENV_WRITE;
    return error ? -error : count;
}

int watched_finish(const struct env_descriptor *env)
{
    return shutdown(watched_of(env)->fd, SHUT_WR) ? -errno : 0;
}

int watched_result(const struct env_descriptor *env)
{
    const struct watched *watched = watched_of(env);
    int error = 0;
    socklen_t size = sizeof error;
    if (watched->failure)
        return watched->failure;
    if (!(watched->ready & ENV_WRITE))
        return -EAGAIN;
    if (getsockopt(watched->fd, SOL_SOCKET, SO_ERROR, &error, &size))
        return -errno;
    return -error;
}

int watched_port(const struct env_descriptor *env)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (getsockname(watched_of(env)->fd, (struct sockaddr *)&address, &size))
        return -errno;
    if (address.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return -ENOTSOCK;
}
