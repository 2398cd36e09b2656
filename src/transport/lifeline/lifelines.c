/* lifelines: all connections of a context: its two listening sockets, and the start of each line.
 *
 * Invariant: greeting_count is the number of live incoming lines that are not up; it never exceeds
 * LIFELINE_GREETING_MAX. */
#include <errno.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/domain.h"
#include "transport/fork/descriptor.h"
#include "transport/lifeline/lifeline.h"
#include "transport/lifeline/lifeline_impl.h"
#include "transport/routed/attachment.h"
#include "transport/socket.h"

enum {
    BACKLOG = 128,
    ACCEPT_MAX = 16, /* per event */
    TCP_PROBES = 4,
};

#define HELLO_NSEC (5 * NSEC_PER_SEC)
#define RETRY_NSEC (2 * 1000 * 1000LL)   /* retry when the peer's backlog is full */
#define REST_NSEC  (100 * 1000 * 1000LL) /* pause when no descriptor is left for accept() */

/* ---- a new line ---- */

static void lifeline_late(void *owner);

static int lifeline_new(struct lifelines *lines, int fd, bool local, struct lifeline **out)
{
    struct lifeline *line = array_new(1, sizeof *line);
    if (!line)
        return -ENOMEM;
    line->lines = lines;
    line->fd = fd;
    line->local = local;
    line->queue_end = &line->queue;
    line->deadline = clock_after(lines->hello_nsec);
    line->retry_wait = RETRY_NSEC;
    line->timer = (struct poller_timer){.fired = lifeline_late, .owner = line};
    int result = poller_set(lines->poller, &line->timer, line->deadline);
    if (result) {
        free(line);
        return result;
    }
    line->next = lines->live;
    if (line->next)
        line->next->previous = line;
    lines->live = line;
    *out = line;
    return 0;
}

/* ---- connecting ---- */

static int unix_address(const struct lifelines *lines, uint64_t context, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(out->sun_path, sizeof out->sun_path, "%s/socket.%016llx", lines->folder,
                        (unsigned long long)context);
    return size < (int)sizeof out->sun_path ? 0 : -ENAMETOOLONG;
}

/* The kernel says which user the peer is. Only the same user may connect, and root, who controls
 * the whole machine anyway. */
static int unix_check_peer(struct lifeline *line)
{
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
        return -errno;
    if (who.uid != geteuid() && who.uid != 0)
        return -EPERM;
    line->pid = (int)who.pid;
    return 0;
}

static void tcp_settle(int fd)
{
    int on = 1, idle = TCP_IDLE_SEC, probes = TCP_PROBES, timeout = TCP_TIMEOUT_MSEC;
    /* The connection also works without these options, so failures are ignored. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

/* Takes over the descriptor for the line. */
static int line_watch(struct lifeline *line, int fd, uint32_t events)
{
    line->fd = fd;
    return poller_add(line->lines->poller, fd, events, lifeline_ready, line, &line->watch);
}

/* Returns 0 when connected, -EINPROGRESS to try again later, or an error. */
static int unix_connect(struct lifeline *line)
{
    struct sockaddr_un address;
    int result = unix_address(line->lines, line->to.context, &address);
    assert(result == 0); /* our own path, on which we listen, is as long */
    int fd = DESCRIPTOR_OPEN(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
        result = -errno;
        descriptor_close(fd);
        return result == -EAGAIN ? -EINPROGRESS : result;
    }
    line->local = true;
    result = line_watch(line, fd, EPOLLIN | EPOLLRDHUP);
    return result ? result : unix_check_peer(line);
}

/* Returns 0 when the connection is in progress. */
static int tcp_connect(struct lifeline *line)
{
    struct socket_address address;
    int result = socket_of_address(&line->to, &address);
    if (result)
        return -EHOSTUNREACH;
    int fd = DESCRIPTOR_OPEN(
        socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    tcp_settle(fd);
    if (connect(fd, (struct sockaddr *)&address.storage, address.size) && errno != EINPROGRESS) {
        result = -errno;
        descriptor_close(fd);
        return result;
    }
    line->local = false;
    return line_watch(line, fd, EPOLLOUT);
}

/* Connects through our server's node. For this file such a line is a stream like any other. */
static int fabric_connect(struct lifeline *line)
{
    struct attachment *attachment = line->lines->attachment;
    struct relay_address to;
    int fd;
    if (!attachment)
        return -EHOSTUNREACH;
    relay_address_read(&to, line->to.address);
    int result = attachment_connect(attachment, &to, &fd);
    if (result)
        return result;
    line->local = false;
    return line_watch(line, fd, EPOLLOUT);
}

static void line_begin(struct lifeline *line)
{
    int result = -ENOENT;
    if (context_address_is_here(&line->to) && !line->lines->fabric_only)
        result = unix_connect(line);
    if (result == -EINPROGRESS) {
        nsec again = clock_after(RETRY_NSEC);
        result = poller_set(line->lines->poller, &line->timer,
                            again < line->deadline ? again : line->deadline);
        assert(result == 0); /* the timer was set already, or is firing now */
        return;
    }
    if (result == 0) {
        lifeline_greet(line);
        return;
    }
    if (result == -ENOENT || result == -ECONNREFUSED) {
        int other = line->to.family == ADDRESS_FABRIC ? fabric_connect(line) : tcp_connect(line);
        if (other == 0)
            return;
        bool tried = other != -EHOSTUNREACH || !context_address_is_here(&line->to);
        result = tried ? other : -ECONNREFUSED;
    }
    lifeline_cut(line, result);
}

int lifeline_connect(struct lifelines *lines, const struct context_address *to,
                     struct lifeline **out)
{
    struct lifeline *line;
    int result = lifeline_new(lines, -1, false, &line);
    if (result)
        return result;
    line->outgoing = true;
    line->known = true;
    line->to = *to;
    line_begin(line);
    *out = line;
    return 0;
}

bool lifelines_reach(const struct lifelines *lines, const struct context_address *address)
{
    bool straight = context_address_is_here(address) && !lines->fabric_only;
    return straight || address->family != ADDRESS_FABRIC || !lines->attachment ||
           attachment_is_up(lines->attachment);
}

/* The line's timer fired: try to connect again, flush the queue, or time out. */
static void lifeline_late(void *owner)
{
    struct lifeline *line = owner;
    if (line->state == LIFELINE_UP) {
        lifeline_flush(line);
        if (line->rests && line->state == LIFELINE_UP) {
            lifeline_rest(line, false);
            lifeline_ready(line, 0);
        }
    } else if (clock_now() < line->deadline) {
        int result = poller_set(line->lines->poller, &line->timer, line->deadline);
        if (result)
            lifeline_cut(line, result);
        else if (line->fd < 0)
            line_begin(line);
    } else {
        line->lines->counts.silent++;
        lifeline_cut(line, -ETIMEDOUT);
    }
}

/* ---- listening ---- */

/* Returns the oldest incoming line that has said nothing, or else the oldest that is not up. */
static struct lifeline *greeting_oldest(const struct lifelines *lines)
{
    struct lifeline *oldest = NULL;
    for (struct lifeline *line = lines->live; line; line = line->next) { /* the newest is first */
        if (line->outgoing || line->state == LIFELINE_UP)
            continue;
        if (!oldest || line->state == LIFELINE_GREETING || oldest->state != LIFELINE_GREETING)
            oldest = line;
    }
    return oldest;
}

/* Makes room for one more unfinished hello: strangers that connect and say nothing must not keep
 * peers out. Peers greet at once, so what a line has said by now is read before it is cut. */
static void greeting_make_room(struct lifelines *lines)
{
    while (lines->greeting_count >= LIFELINE_GREETING_MAX) {
        struct lifeline *line = greeting_oldest(lines);
        enum lifeline_state before = line->state;
        (void)lifeline_drain(line); /* may cut lines, but frees none */
        if (line->state != before)
            continue;
        lines->counts.surplus++;
        lifeline_cut(line, -ETIMEDOUT);
    }
}

static void line_accept(struct lifelines *lines, int fd, bool local)
{
    struct lifeline *line;
    if (lines->greeting_count >= LIFELINE_GREETING_MAX)
        greeting_make_room(lines);
    if (lifeline_new(lines, fd, local, &line)) {
        descriptor_close(fd);
        return;
    }
    lines->greeting_count++;
    line->state = LIFELINE_GREETING;
    int result = local ? unix_check_peer(line) : 0;
    if (!local)
        tcp_settle(fd);
    if (!result)
        result = line_watch(line, fd, EPOLLIN | EPOLLRDHUP);
    if (result)
        lifeline_cut(line, result);
}

/* Stops or resumes listening. Without a descriptor for accept() the listening socket stays
 * readable, and we would spin. */
static void lifelines_listen(struct lifelines *lines, bool on)
{
    uint32_t events = on ? EPOLLIN : 0;
    int result = lines->unix_watch ? poller_change(lines->poller, lines->unix_watch, events) : 0;
    if (!result && lines->tcp_watch)
        result = poller_change(lines->poller, lines->tcp_watch, events);
    if (!result)
        result = poller_set(lines->poller, &lines->rest, on ? NSEC_FAR : clock_after(REST_NSEC));
    assert(result == 0); /* both watches and the timer exist already */
}

static void lifelines_resume(void *owner)
{
    struct lifelines *lines = owner;
    int result = poller_set(lines->poller, &lines->rest, NSEC_FAR);
    assert(result == 0);
    lifelines_listen(lines, true);
}

static void lifelines_accept(struct lifelines *lines, int listener, bool local)
{
    for (int i = 0; i < ACCEPT_MAX; i++) {
        int fd = DESCRIPTOR_OPEN(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd >= 0) {
            line_accept(lines, fd, local);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            lifelines_listen(lines, false);
        else if (errno == ECONNABORTED || errno == EINTR)
            continue;
        return;
    }
}

static void unix_ready(void *owner, uint32_t events)
{
    struct lifelines *lines = owner;
    lifelines_accept(lines, lines->unix_fd, true);
}

static void tcp_ready(void *owner, uint32_t events)
{
    struct lifelines *lines = owner;
    lifelines_accept(lines, lines->tcp_fd, false);
}

static void fabric_accepted(void *owner, int fd)
{
    line_accept(owner, fd, false);
}

/* Sets the address at which other hosts reach us: the IP address if we have one, else the
 * fabric. */
static void fabric_listen(struct lifelines *lines)
{
    struct relay_address address = attachment_address(lines->attachment);
    attachment_on_line(lines->attachment, fabric_accepted, lines);
    if (lines->address.family && lines->address.family != ADDRESS_FABRIC)
        return;
    lines->address.family = ADDRESS_FABRIC;
    relay_address_write(&address, lines->address.address);
}

void lifelines_renew(struct lifelines *lines, struct context_address *address)
{
    fabric_listen(lines);
    *address = lines->address;
    for (struct lifeline *line = lines->live, *next; line; line = next) {
        next = line->next;
        if (line->state != LIFELINE_UP)
            lifeline_cut(line, -EPIPE); /* it may have sent our old address */
    }
}

static int unix_listen(struct lifelines *lines, struct why *why)
{
    struct sockaddr_un address;
    char name[DOMAIN_FILE_MAX];
    lifelines_file(lines->address.context, name);
    lines->lock_fd = domain_file_lock(lines->folder, name);
    if (lines->lock_fd < 0)
        return why_fail(why, lines->lock_fd, "cannot lock %s/%s: %s", lines->folder, name,
                        strerror(-lines->lock_fd));
    int result = unix_address(lines, lines->address.context, &address);
    if (result)
        return why_fail(why, result, "the path of %s is too long for a socket", lines->folder);
    (void)unlink(address.sun_path); /* left by a dead context with our number: we hold its lock */
    lines->unix_fd =
        DESCRIPTOR_OPEN(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (lines->unix_fd < 0 || bind(lines->unix_fd, (struct sockaddr *)&address, sizeof address) ||
        listen(lines->unix_fd, BACKLOG))
        result = -errno;
    if (!result)
        result = poller_add(lines->poller, lines->unix_fd, EPOLLIN, unix_ready, lines,
                            &lines->unix_watch);
    return result ? why_fail(why, result, "cannot listen on %s: %s", address.sun_path,
                             strerror(-result))
                  : 0;
}

static int tcp_bind(struct lifelines *lines, const struct socket_address *address, bool fixed)
{
    int on = 1;
    lines->tcp_fd = DESCRIPTOR_OPEN(
        socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (lines->tcp_fd < 0)
        return -errno;
    /* Connections of a process that has just ended keep their port for a minute. Its successor
     * must get the port all the same; another live listener still refuses it. */
    if (fixed && setsockopt(lines->tcp_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on))
        return -errno;
    return bind(lines->tcp_fd, (const struct sockaddr *)&address->storage, address->size) ||
                   listen(lines->tcp_fd, BACKLOG)
               ? -errno
               : 0;
}

static int tcp_listen(struct lifelines *lines, const char *text, uint16_t port, struct why *why)
{
    struct socket_address address;
    int result = socket_parse(text, &address);
    if (result)
        return why_fail(why, result, "'%.64s' is not an IP address of one interface", text);
    socket_set_port(&address, port);
    result = tcp_bind(lines, &address, port != 0);
    if (!result)
        result = socket_local(lines->tcp_fd, &address);
    if (!result)
        result =
            poller_add(lines->poller, lines->tcp_fd, EPOLLIN, tcp_ready, lines, &lines->tcp_watch);
    if (result && port)
        return why_fail(why, result, "cannot listen on address %s, port %u: %s", text,
                        (unsigned)port, strerror(-result));
    if (result)
        return why_fail(why, result, "cannot listen on %s: %s", text, strerror(-result));
    socket_to_address(&address, &lines->address);
    return 0;
}

/* ---- all lines of a context ---- */

int lifelines_open(struct lifelines **out, const struct lifelines_config *config,
                   struct context_address *address, struct why *why)
{
    assert(config->context && config->card_size <= LIFELINE_CARD_MAX);
    struct lifelines *lines = array_new(1, sizeof *lines);
    if (!lines || sodium_init() < 0) {
        free(lines);
        return why_fail(why, -ENOMEM, "not enough memory");
    }
    lines->poller = config->poller;
    lines->attachment = config->attachment;
    lines->fabric_only = config->fabric_only;
    lines->events = config->events;
    lines->owner = config->owner;
    lines->card = config->card;
    lines->card_size = config->card_size;
    lines->hello_nsec = config->hello_nsec ? config->hello_nsec : HELLO_NSEC;
    lines->keyed = config->key != NULL;
    if (config->key)
        memcpy(lines->key, config->key, sizeof lines->key);
    lines->lock_fd = lines->unix_fd = lines->tcp_fd = -1;
    lines->doomed_end = &lines->doomed;
    lines->address.context = config->context;
    context_address_host(lines->address.host);
    lines->reaper = (struct poller_timer){.fired = lifelines_reap, .owner = lines};
    lines->rest = (struct poller_timer){.fired = lifelines_resume, .owner = lines};
    int result = 0;
    if (snprintf(lines->folder, sizeof lines->folder, "%s", config->folder) >=
        (int)sizeof lines->folder)
        result = why_fail(why, -ENAMETOOLONG, "the path of folder %s is too long", config->folder);
    if (!result && (poller_set(lines->poller, &lines->reaper, NSEC_FAR) ||
                    poller_set(lines->poller, &lines->rest, NSEC_FAR)))
        result = why_fail(why, -ENOMEM, "not enough memory");
    if (!result)
        result = unix_listen(lines, why);
    if (!result && config->address)
        result = tcp_listen(lines, config->address, config->port, why);
    if (!result && lines->attachment)
        fabric_listen(lines);
    if (result) {
        lifelines_close(lines);
        return result;
    }
    *address = lines->address;
    *out = lines;
    return 0;
}

static void socket_end(struct poller *poller, struct poller_watch *watch, int fd)
{
    poller_remove(poller, watch);
    if (fd >= 0)
        descriptor_close(fd);
}

/* Removes the socket's name before its context's file, and that before the lock. If the folder was
 * removed while we used it, both names may belong to another context with the same number by now;
 * then they stay. */
static void names_remove(struct lifelines *lines)
{
    struct sockaddr_un address;
    char name[DOMAIN_FILE_MAX], path[sizeof lines->folder + DOMAIN_FILE_MAX];
    if (lines->lock_fd < 0)
        return;
    lifelines_file(lines->address.context, name);
    if (domain_file_named(lines->folder, name, lines->lock_fd)) {
        if (!unix_address(lines, lines->address.context, &address))
            (void)unlink(address.sun_path);
        snprintf(path, sizeof path, "%s/%s", lines->folder, name);
        (void)unlink(path);
    }
    descriptor_close(lines->lock_fd);
}

void lifelines_close(struct lifelines *lines)
{
    if (!lines)
        return;
    if (lines->attachment)
        attachment_on_line(lines->attachment, NULL, NULL);
    while (lines->live) {
        struct lifeline *line = lines->live;
        lines->live = line->next;
        lifeline_shut(line);
        lifeline_free(line);
    }
    while (lines->doomed) {
        struct lifeline *line = lines->doomed;
        lines->doomed = line->next;
        lifeline_free(line);
    }
    socket_end(lines->poller, lines->unix_watch, lines->unix_fd);
    socket_end(lines->poller, lines->tcp_watch, lines->tcp_fd);
    names_remove(lines);
    poller_unset(lines->poller, &lines->reaper);
    poller_unset(lines->poller, &lines->rest);
    sodium_memzero(lines->key, sizeof lines->key);
    free(lines);
}

void lifelines_count(const struct lifelines *lines, struct lifelines_counts *counts)
{
    *counts = lines->counts;
}

uint64_t lifelines_garbage(const struct lifelines *lines)
{
    return lines->counts.garbage;
}
