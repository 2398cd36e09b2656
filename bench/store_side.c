#include "store_side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double store_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

const char *store_value(void)
{
    static char value[STORE_VALUE];
    for (size_t i = 0; !value[0] && i < sizeof value; i++)
        value[sizeof value - 1 - i] = (char)('a' + i * 7 % 26);
    return value;
}

/* ---- runs ---- */

void store_turn_begin(struct store_turn *run)
{
    run->times.count = 0;
    run->next = 0;
    run->state = run->state * 2 + 88172645463325252UL;
    run->end = store_now() + run->seconds;
    run->times.seconds = store_now();
}

bool store_turn_next(struct store_turn *run, char key[STORE_KEY_ROOM])
{
    unsigned number = run->next;
    if (run->all ? run->next == STORE_KEYS : store_now() >= run->end)
        return false;
    if (run->all) {
        run->next++;
    } else {
        run->state ^= run->state << 13;
        run->state ^= run->state >> 7;
        run->state ^= run->state << 17;
        number = (unsigned)((run->state >> 32) % STORE_KEYS);
    }
    snprintf(key, STORE_KEY_ROOM, "key%06u", number);
    return true;
}

void store_turn_note(struct store_turn *run, double latency)
{
    struct store_times *times = &run->times;
    if (times->count == times->room) {
        times->room = times->room ? 2 * times->room : 1 << 16;
        times->latencies = realloc(times->latencies, times->room * sizeof *times->latencies);
        if (!times->latencies)
            bench_fail("not enough memory");
    }
    times->latencies[times->count++] = latency;
}

void store_turn_end(struct store_turn *run)
{
    run->times.seconds = store_now() - run->times.seconds;
    if (!run->times.count)
        bench_fail("no request was answered");
}

/* ---- programs ---- */

bool store_is_installed(const char *program)
{
    char line[256];
    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin command -v %s >/dev/null 2>&1",
             program);
    return system(line) == 0;
}

void store_spawn(const char *folder, const char *const *words)
{
    char log[600];
    pid_t self = getpid(), child = fork();
    if (child < 0)
        bench_fail("fork: %s", strerror(errno));
    if (child)
        return;
    snprintf(log, sizeof log, "%s/output", folder);
    int file = open(log, O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (file < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
        getppid() != self)
        _exit(1);
    execvp(words[0], (char *const *)(const void *)words);
    _exit(1);
}

unsigned store_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        bench_fail("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

/* ---- connections ---- */

void store_send(struct store_connection *connection, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t moved = send(connection->fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (moved < 0 && errno != EINTR)
            bench_fail("a server has hung up: %s", strerror(errno));
        sent += moved > 0 ? (size_t)moved : 0;
    }
}

bool store_read(struct store_connection *connection)
{
    size_t room = sizeof connection->in - connection->filled;
    ssize_t got = room ? recv(connection->fd, connection->in + connection->filled, room, 0) : 0;
    connection->filled += got > 0 ? (size_t)got : 0;
    return got > 0;
}

void store_drop(struct store_connection *connection, size_t size)
{
    connection->filled -= size;
    memmove(connection->in, connection->in + size, connection->filled);
}

static bool peer_ask(const struct store_protocol *protocol, struct store_connection *connection,
                     struct store_turn *run)
{
    char key[STORE_KEY_ROOM];
    if (!store_turn_next(run, key))
        return false;
    connection->sent_at = store_now();
    protocol->ask(connection, run->job, key);
    return true;
}

/* Reads, and asks again after an answer. True: the connection has no request under way any more. */
static bool peer_turn(const struct store_protocol *protocol, struct store_connection *connection,
                      struct store_turn *run)
{
    if (!store_read(connection))
        bench_fail("a server has hung up");
    int result = protocol->hear(connection, run->job);
    if (result < 0)
        bench_fail("a server has refused a request");
    if (!result)
        return false;
    store_turn_note(run, store_now() - connection->sent_at);
    return !peer_ask(protocol, connection, run);
}

void store_peer_run(const struct store_protocol *protocol, struct store_connection *connections,
                    struct store_turn *run)
{
    struct epoll_event events[STORE_AT_ONCE_MAX];
    unsigned open = 0;
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (set < 0)
        bench_fail("epoll: %s", strerror(errno));
    store_turn_begin(run);
    for (unsigned i = 0; i < run->at_once; i++) {
        events[0] = (struct epoll_event){.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(set, EPOLL_CTL_ADD, connections[i].fd, events))
            bench_fail("epoll: %s", strerror(errno));
        open += peer_ask(protocol, &connections[i], run);
    }
    while (open && run->at_once == 1) /* a read that waits is the fastest */
        open -= peer_turn(protocol, connections, run);
    while (open) {
        int count = epoll_wait(set, events, STORE_AT_ONCE_MAX, -1);
        for (int i = 0; i < count; i++)
            open -= peer_turn(protocol, events[i].data.ptr, run);
    }
    store_turn_end(run);
    close(set);
}
