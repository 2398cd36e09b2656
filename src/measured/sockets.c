/* sockets: the usual way, with blocking calls. */
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
            pair_fail(pair, "reading from a socket: %s", step ? strerror(errno) : "its end");
        done += (size_t)step;
    }
}

static void stream_ping(struct pair *pair, int handle)
{
    uint64_t total = pair_total(pair);
    size_t size = pair->job->size;
    unsigned char *out = pair->own, *in = pair->own + size;
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        payload_number(out, i);
        if (pair->role == 0)
            stream_write(pair, handle, out, size);
        stream_read(pair, handle, in, size);
        pair_check(pair, in, size, i);
        if (pair->role == 1)
            stream_write(pair, handle, out, size);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
}

/* The receiver says after each batch that it has all of it. */
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
                pair_fail(pair, "item %llu came out of its turn", (unsigned long long)i);
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
        stream_ping(pair, handle);
    else if (pair->job->kind == JOB_LONG)
        stream_long(pair, handle);
    else
        pair_missing(pair, "sockets are not measured for this");
    close(handle);
}

/* Role 1 listens before they meet; role 0 connects after it. */
static int stream_open(struct pair *pair, int family, struct sockaddr *address, socklen_t size)
{
    int handle = socket(family, SOCK_STREAM, 0), peer;
    socklen_t filled = size;
    if (handle < 0)
        pair_fail(pair, "socket: %s", strerror(errno));
    if (pair->role == 1 && (bind(handle, address, size) || listen(handle, 1)))
        pair_fail(pair, "listening: %s", strerror(errno));
    if (pair->role == 1 && getsockname(handle, address, &filled))
        pair_fail(pair, "listening: %s", strerror(errno));
    struct sockaddr_storage mine = {0}, theirs;
    memcpy(&mine, address, size);
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    if (pair->role == 0) {
        if (connect(handle, (struct sockaddr *)&theirs, size))
            pair_fail(pair, "connecting: %s", strerror(errno));
        return handle;
    }
    peer = accept(handle, NULL, NULL);
    if (peer < 0)
        pair_fail(pair, "accepting: %s", strerror(errno));
    close(handle);
    return peer;
}

static void tcp_run(struct pair *pair)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

const struct side side_tcp = {"tcp", tcp_run};
const struct side side_unix = {"unix", unix_run};
