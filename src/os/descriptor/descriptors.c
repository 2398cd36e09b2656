/* descriptors: opening and accepting, and the turns.
 *
 * All descriptors of services are limited together, so that links, files and programs of the
 * process keep theirs. When the system has no descriptor left for a client, a spare one makes room
 * to disconnect it. If even that fails, the listener rests for a while. */
#include "os/descriptor/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "os/descriptor/descriptors_impl.h"

enum {
    BACKLOG = 4096,
    PASS_TURNS = 32,          /* in a pass of the host */
    DESCRIPTORS_KEPT = 256,   /* of the process, for links, logs, files and programs */
    DESCRIPTORS_LEAST = 16,   /* that services may have even if the limit is low */
    SEND_BUFFER = 128 * 1024, /* of a socket; the system doubles it */
    ACCEPTS_FAILED_MAX = 16,  /* clients in a row that gave up before they were accepted */
};
#define PASS_NSEC  (50 * 1000LL) /* after this time a pass begins no further turn */
#define RETRY_NSEC (100 * 1000 * 1000LL)

/* ---- all of them ---- */

static uint32_t most_allowed(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT32_MAX;
    uint64_t rest = limit.rlim_cur > DESCRIPTORS_KEPT ? limit.rlim_cur - DESCRIPTORS_KEPT : 0;
    uint64_t most = rest - rest / 4;
    if (most < DESCRIPTORS_LEAST)
        return DESCRIPTORS_LEAST;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static int spare_open(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void descriptors_open(struct descriptors *all, struct poller *poller, descriptors_turn *turn,
                      uint32_t most)
{
    *all = (struct descriptors){.poller = poller,
                                .turn = turn,
                                .most = most ? most : most_allowed(),
                                .spare = spare_open()};
    list_init(&all->queue);
}

void descriptors_close(struct descriptors *all)
{
    assert(!all->count && list_is_empty(&all->queue));
    if (all->spare >= 0)
        close(all->spare);
}

void descriptors_pass(struct descriptors *all)
{
    nsec until = clock_after(PASS_NSEC);
    for (unsigned turns = 0; turns < PASS_TURNS;) {
        struct list *node = list_take(&all->queue);
        if (!node)
            return;
        struct watched *watched = container_of(node, struct watched, node);
        unsigned ready = watched->ready & watched->env->wants;
        if (!ready)
            continue; /* its node has drained it meanwhile, or wants nothing any more */
        turns++;
        all->current = watched;
        all->turn(watched->owner, watched->env, ready);
        watched = all->current;
        all->current = NULL;
        if (watched)
            watched_ready(watched, 0); /* it waits for its next turn if it has more to do */
        if (clock_now() >= until)
            return;
    }
}

/* ---- addresses ---- */

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    };
    socklen_t size;
};

static int address_read(struct address *out, const struct env_address *in)
{
    *out = (struct address){.size = sizeof out->four};
    if (inet_pton(AF_INET, in->text, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons(in->port);
        return 0;
    }
    *out = (struct address){.size = sizeof out->six};
    if (inet_pton(AF_INET6, in->text, &out->six.sin6_addr) != 1)
        return -EINVAL;
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons(in->port);
    return 0;
}

static void option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

/* Sockets that a listener accepts inherit these options. A service writes whole answers, so Nagle's
 * algorithm would only delay them; the size of the buffer bounds the memory that a client that does
 * not read takes. */
static int socket_open(const struct descriptors *all, const struct address *address)
{
    if (all->count >= all->most)
        return -EMFILE;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    option(fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
    return fd;
}

/* ---- listening ---- */

static void listener_retry(void *owner)
{
    struct watched *listener = owner;
    struct descriptors *all = listener->all;
    if (all->spare < 0)
        all->spare = spare_open();
    int result = poller_set(all->poller, &listener->retry, NSEC_FAR);
    assert(result == 0); /* the slot that the timer had is still free */
    watched_ready(listener, ENV_READ);
}

int descriptors_listen(struct descriptors *all, void *owner, struct env_descriptor *env,
                       const struct env_address *text)
{
    struct address address;
    int result = address_read(&address, text);
    if (result)
        return result;
    int fd = socket_open(all, &address);
    if (fd < 0)
        return fd;
    option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(fd, &address.any, address.size) || listen(fd, BACKLOG))
        result = -errno;
    if (!result)
        result = watched_open(all, owner, env, fd, WATCHED_LISTENER);
    if (result) {
        close(fd);
        return result;
    }
    struct watched *listener = env->world;
    listener->retry = (struct poller_timer){.fired = listener_retry, .owner = listener};
    result = poller_set(all->poller, &listener->retry, NSEC_FAR);
    if (result)
        watched_close(env);
    return result;
}

static int client_take(const struct watched *listener)
{
    int fd = -1;
    for (unsigned i = 0; i < ACCEPTS_FAILED_MAX && fd < 0; i++) {
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EAGAIN || errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                       errno == ENOMEM))
            break; /* other errors are of one client, or of the network on the way to it */
    }
    return fd < 0 ? -errno : fd;
}

/* Disconnects the next client, because no descriptor is left. */
static int client_refuse(struct watched *listener)
{
    struct descriptors *all = listener->all;
    int fd = -1;
    if (all->spare >= 0) {
        close(all->spare);
        fd = client_take(listener);
        if (fd >= 0)
            close(fd);
        all->spare = spare_open();
    }
    if (fd >= 0)
        return -EMFILE;
    listener->ready &= (uint8_t)~ENV_READ;
    int result = poller_set(all->poller, &listener->retry, clock_after(RETRY_NSEC));
    assert(result == 0); /* the timer is always set */
    return -EAGAIN;
}

int descriptors_accept(struct env_descriptor *listener, struct env_descriptor *env)
{
    struct watched *listens = listener->world;
    int fd = client_take(listens);
    if (fd == -EAGAIN)
        listens->ready &= (uint8_t)~ENV_READ;
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
        return client_refuse(listens);
    if (fd < 0)
        return -EAGAIN; /* after another error the listener is still ready */
    int result = env ? watched_open(listens->all, listens->owner, env, fd, WATCHED_SOCKET) : 0;
    if (result || !env)
        close(fd);
    else
        ((struct watched *)env->world)->ready = ENV_WRITE; /* nothing was sent yet */
    return result ? -EMFILE : 0;
}

/* ---- connecting and adopting ---- */

int descriptors_connect(struct descriptors *all, void *owner, struct env_descriptor *env,
                        const struct env_address *text)
{
    struct address address;
    int failure = 0, result = address_read(&address, text);
    if (result)
        return result;
    int fd = socket_open(all, &address);
    if (fd < 0)
        return fd;
    if (connect(fd, &address.any, address.size) && errno != EINPROGRESS)
        failure = -errno;
    result = watched_open(all, owner, env, fd, WATCHED_SOCKET);
    if (result) {
        close(fd);
        return result;
    }
    struct watched *watched = env->world;
    watched->failure = failure;
    watched->ready = failure ? ENV_WRITE : 0;
    return 0;
}

static enum watched_kind kind_of(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    bool is_stream = !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM;
    return is_stream ? WATCHED_SOCKET : WATCHED_OTHER;
}

int descriptors_adopt(struct descriptors *all, void *owner, struct env_descriptor *env, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    int result = watched_open(all, owner, env, fd, kind_of(fd));
    if (result)
        return result;
    struct watched *watched = env->world;
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC) ||
        !watched_adopt(watched)) {
        result = -errno;
        watched_close(env); /* closes fd, too; but these do not fail for an open descriptor */
        return result;
    }
    watched->ready |= (flags & O_ACCMODE) != O_RDONLY ? ENV_WRITE : 0;
    return 0;
}
