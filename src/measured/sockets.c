/* sockets: TCP, UDP and Unix sockets, with blocking calls unless a job asks UDP to poll. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "measured/payload.h"
#include "measured/sides.h"

static void stream_write(struct pair *pair, int handle, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t step = write(handle, (const char *)data + done, size - done);
        if (step <= 0)
            pair_fail(pair, "writing to a socket: %s", strerror(errno));
        done += (size_t)step;
    }
}

static void stream_read(struct pair *pair, int handle, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t step = read(handle, (char *)data + done, size - done);
        if (step <= 0)
            pair_fail(pair, "reading from a socket: %s",
                      step ? strerror(errno) : "the other end closed it");
        done += (size_t)step;
    }
}

typedef void socket_send(struct pair *pair, int handle, const void *data, size_t size);
typedef void socket_take(struct pair *pair, int handle, void *data, size_t size);

static void ping_run(struct pair *pair, int handle, socket_send *send_all, socket_take *take_all)
{
    uint64_t total = pair_total(pair);
    size_t size = pair->job->size;
    unsigned char *out = pair->own, *in = pair->own + size;
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        payload_number(out, i);
        if (pair->role == 0)
            send_all(pair, handle, out, size);
        take_all(pair, handle, in, size);
        pair_check(pair, in, size, i);
        if (pair->role == 1)
            send_all(pair, handle, out, size);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
}

/* The receiver acknowledges each batch. */
static void stream_long(struct pair *pair, int handle)
{
    uint64_t total = pair_total(pair);
    size_t size = pair->job->size;
    char all = 'a';
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        unsigned char *data = pair->own + i % PAIR_DEPTH * size;
        bool last = (i + 1) % pair->job->count == 0;
        if (pair->role == 0) {
            payload_number(data, i);
            stream_write(pair, handle, data, size);
            if (last) {
                stream_read(pair, handle, &all, 1);
                pair_lap(pair);
            }
        } else {
            stream_read(pair, handle, data, size);
            if (memcmp(data, &i, sizeof i) != 0)
                pair_fail(pair, "item %llu is out of order", (unsigned long long)i);
            if (last)
                stream_write(pair, handle, &all, 1);
        }
    }
    if (pair->role == 1)
        pair_stop(pair);
}

static void stream_run(struct pair *pair, int handle)
{
    if (pair->job->kind == JOB_PING)
        ping_run(pair, handle, stream_write, stream_read);
    else if (pair->job->kind == JOB_LONG)
        stream_long(pair, handle);
    else
        pair_missing(pair, "stream sockets do not measure this job");
    close(handle);
}

/* Role 1 listens before the two exchange addresses; role 0 connects afterwards. */
static int stream_open(struct pair *pair, int family, struct sockaddr *address, socklen_t size)
{
    int handle = socket(family, SOCK_STREAM, 0), peer;
    socklen_t filled = size;
    if (handle < 0)
        pair_fail(pair, "socket: %s", strerror(errno));
    if (pair->role == 1 && (bind(handle, address, size) || listen(handle, 1)))
        pair_fail(pair, "cannot listen: %s", strerror(errno));
    if (pair->role == 1 && getsockname(handle, address, &filled))
        pair_fail(pair, "cannot listen: %s", strerror(errno));
    struct sockaddr_storage mine = {0}, theirs;
    memcpy(&mine, address, size);
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    if (pair->role == 0) {
        if (connect(handle, (struct sockaddr *)&theirs, size))
            pair_fail(pair, "cannot connect: %s", strerror(errno));
        return handle;
    }
    peer = accept(handle, NULL, NULL);
    if (peer < 0)
        pair_fail(pair, "cannot accept a connection: %s", strerror(errno));
    close(handle);
    return peer;
}

static struct sockaddr_in loopback(void)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void tcp_run(struct pair *pair)
{
    struct sockaddr_in address = loopback();
    int yes = 1;
    int handle = stream_open(pair, AF_INET, (struct sockaddr *)&address, sizeof address);
    setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    stream_run(pair, handle);
}

static void unix_run(struct pair *pair)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", pair->folder);
    stream_run(pair, stream_open(pair, AF_UNIX, (struct sockaddr *)&address, sizeof address));
}

/* ---- datagrams, and connections that last for one ping ---- */

static void udp_take(struct pair *pair, int handle, void *data, size_t size)
{
    ssize_t got;
    do
        got = recv(handle, data, size, pair->job->blocking ? 0 : MSG_DONTWAIT);
    while (got < 0 && (errno == EAGAIN || errno == EINTR));
    if ((size_t)got != size)
        pair_fail(pair, "receiving a datagram: %s", got < 0 ? strerror(errno) : "too short");
}

static void udp_send(struct pair *pair, int handle, const void *data, size_t size)
{
    if (send(handle, data, size, 0) != (ssize_t)size)
        pair_fail(pair, "sending a datagram: %s", strerror(errno));
}

static int udp_open(struct pair *pair)
{
    struct sockaddr_in mine = loopback(), theirs;
    socklen_t size = sizeof mine;
    int handle = socket(AF_INET, SOCK_DGRAM, 0);
    if (handle < 0 || bind(handle, (struct sockaddr *)&mine, size) ||
        getsockname(handle, (struct sockaddr *)&mine, &size))
        pair_fail(pair, "socket: %s", strerror(errno));
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    if (connect(handle, (struct sockaddr *)&theirs, size))
        pair_fail(pair, "cannot connect: %s", strerror(errno));
    return handle;
}

static void udp_run(struct pair *pair)
{
    if (pair->job->kind != JOB_PING)
        pair_missing(pair, "UDP does not measure this job");
    int handle = udp_open(pair);
    pair_meet(pair); /* both are connected, so no datagram is refused */
    ping_run(pair, handle, udp_send, udp_take);
    close(handle);
}

/* Role 1 closes first, so that the connections that stay in TIME_WAIT use its one port and not
 * the many ports of role 0. */
static void tcp_new_answer(struct pair *pair, int listener, uint64_t number)
{
    size_t size = pair->job->size;
    unsigned char *out = pair->own, *in = pair->own + size;
    int handle = accept(listener, NULL, NULL);
    if (handle < 0)
        pair_fail(pair, "cannot accept a connection: %s", strerror(errno));
    stream_read(pair, handle, in, size);
    pair_check(pair, in, size, number);
    payload_number(out, number);
    stream_write(pair, handle, out, size);
    close(handle);
}

static void tcp_new_ask(struct pair *pair, const struct sockaddr_in *address, uint64_t number)
{
    size_t size = pair->job->size;
    unsigned char *out = pair->own, *in = pair->own + size;
    int handle = socket(AF_INET, SOCK_STREAM, 0);
    if (handle < 0 || connect(handle, (const struct sockaddr *)address, sizeof *address))
        pair_fail(pair, "cannot connect: %s", strerror(errno));
    payload_number(out, number);
    stream_write(pair, handle, out, size);
    stream_read(pair, handle, in, size);
    pair_check(pair, in, size, number);
    close(handle);
}

static void tcp_new_run(struct pair *pair)
{
    struct sockaddr_in mine = loopback(), theirs;
    socklen_t size = sizeof mine;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (pair->job->kind != JOB_PING)
        pair_missing(pair, "new TCP connections do not measure this job");
    if (listener < 0 || bind(listener, (struct sockaddr *)&mine, size) ||
        listen(listener, SOMAXCONN) || getsockname(listener, (struct sockaddr *)&mine, &size))
        pair_fail(pair, "cannot listen: %s", strerror(errno));
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    pair_start(pair);
    for (uint64_t i = 0; i < pair_total(pair); i++) {
        if (pair->role == 1) {
            tcp_new_answer(pair, listener, i);
            continue;
        }
        tcp_new_ask(pair, &theirs, i);
        if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
    close(listener);
}

const struct side side_udp = {"udp", udp_run};
const struct side side_tcp_new = {"tcp, new connections", tcp_new_run};
const struct side side_tcp = {"tcp", tcp_run};
const struct side side_unix = {"unix", unix_run};
