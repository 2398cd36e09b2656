/* store_etcd: three members of etcd on loopback. Its requests are calls of gRPC: this file speaks
 * as much of HTTP/2 as they need, a connection for each request at a time, to the member that
 * leads. Gets are linearizable, as they are by default. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_side.h"

enum { FRAME_HEAD = 9, DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, GO_AWAY = 7 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static struct store_connection connections[STORE_AT_ONCE_MAX];

/* ---- frames ---- */

struct frame {
    unsigned char bytes[STORE_VALUE + 512];
    size_t size;
};

static void put(struct frame *frame, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(frame->bytes + frame->size, bytes, size);
    frame->size += size;
}

static void head_put(struct frame *frame, size_t size, int kind, int flags, unsigned stream)
{
    const unsigned char head[FRAME_HEAD] = {
        (unsigned char)(size >> 16),   (unsigned char)(size >> 8),   (unsigned char)size,
        (unsigned char)kind,           (unsigned char)flags,         (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream};
    put(frame, head, sizeof head);
}

/* A field that is not compressed, and enters no table. */
static void field_put(struct frame *frame, const char *name, const char *value)
{
    const unsigned char sizes[] = {0, (unsigned char)strlen(name), (unsigned char)strlen(value)};
    put(frame, sizes, 2);
    put(frame, name, sizes[1]);
    put(frame, sizes + 2, 1);
    put(frame, value, sizes[2]);
}

static void headers_put(struct frame *frame, const char *path, unsigned stream)
{
    struct frame fields = {.size = 0};
    field_put(&fields, ":method", "POST");
    field_put(&fields, ":scheme", "http");
    field_put(&fields, ":path", path);
    field_put(&fields, ":authority", "127.0.0.1");
    field_put(&fields, "content-type", "application/grpc");
    field_put(&fields, "te", "trailers");
    head_put(frame, fields.size, HEADERS, END_HEADERS, stream);
    put(frame, fields.bytes, fields.size);
}

/* A field of a message of bytes: tag, size, bytes. */
static void bytes_put(struct frame *frame, unsigned tag, const void *bytes, size_t size)
{
    unsigned char head[3] = {(unsigned char)(tag << 3 | 2), (unsigned char)size};
    if (size >= 128) {
        head[1] = (unsigned char)(size | 128);
        head[2] = (unsigned char)(size >> 7);
    }
    put(frame, head, size >= 128 ? 3 : 2);
    put(frame, bytes, size);
}

/* ---- requests ---- */

static void ask(struct store_connection *connection, enum store_job job, const char *key)
{
    struct frame out = {.size = 0}, message = {.size = 0};
    connection->stream = connection->stream ? connection->stream + 2 : 1;
    connection->has_data = false;
    headers_put(&out, job == STORE_GETS ? "/etcdserverpb.KV/Range" : "/etcdserverpb.KV/Put",
                connection->stream);
    bytes_put(&message, 1, key, strlen(key));
    if (job == STORE_PUTS)
        bytes_put(&message, 2, store_value(), STORE_VALUE);
    const unsigned char size[5] = {0, 0, 0, (unsigned char)(message.size >> 8),
                                   (unsigned char)message.size};
    head_put(&out, sizeof size + message.size, DATA, END_STREAM, connection->stream);
    put(&out, size, sizeof size);
    put(&out, message.bytes, message.size);
    store_send(connection, out.bytes, out.size);
}

static void frame_answer(struct store_connection *connection, int kind, const void *bytes,
                         size_t size)
{
    struct frame out = {.size = 0};
    head_put(&out, size, kind, ACK, 0);
    put(&out, bytes, size);
    store_send(connection, out.bytes, out.size);
}

/* Handles a whole frame. Results as of hear. */
static int frame_hear(struct store_connection *connection, enum store_job job,
                      const unsigned char *frame, size_t size)
{
    int kind = frame[3], flags = frame[4];
    if (kind == SETTINGS && !(flags & ACK))
        frame_answer(connection, SETTINGS, NULL, 0);
    else if (kind == PING && !(flags & ACK))
        frame_answer(connection, PING, frame + FRAME_HEAD, size);
    else if (kind == GO_AWAY)
        return -1;
    else if (kind == DATA && size)
        connection->has_data |= job == STORE_PUTS ? size > 5 : size > STORE_VALUE;
    bool ends = (kind == DATA || kind == HEADERS) && flags & END_STREAM;
    return !ends ? 0 : connection->has_data ? 1 : -1;
}

static int hear(struct store_connection *connection, enum store_job job)
{
    size_t at = 0;
    int result = 0;
    while (!result && connection->filled - at >= FRAME_HEAD) {
        const unsigned char *frame = connection->in + at;
        size_t size = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
        if (size > sizeof connection->in - FRAME_HEAD)
            return -1;
        if (connection->filled - at < FRAME_HEAD + size)
            break;
        result = frame_hear(connection, job, frame, size);
        at += FRAME_HEAD + size;
    }
    store_drop(connection, at);
    return result;
}

static const struct store_protocol protocol = {ask, hear};

/* ---- starting ---- */

static bool connect_to(struct store_connection *connection, unsigned port)
{
    /* Answers may have 16 MiB before we say that we took them; then the same for the connection. */
    static const unsigned char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                         "\0\0\6\4\0\0\0\0\0\0\4\1\0\0\0"
                                         "\0\0\4\10\0\0\0\0\0\177\0\0\0";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    *connection = (struct store_connection){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address)) {
        close(connection->fd);
        return false;
    }
    store_send(connection, hello, sizeof hello - 1);
    return true;
}

/* Tries until a put succeeds: the members elect a leader first. */
static void member_await(unsigned port)
{
    for (int i = 0; i < 300; i++, usleep(100000)) {
        struct store_connection connection;
        int result = 0;
        if (!connect_to(&connection, port))
            continue;
        ask(&connection, STORE_PUTS, "key000000");
        while (!result && store_read(&connection))
            result = hear(&connection, STORE_PUTS);
        close(connection.fd);
        if (result > 0)
            return;
    }
    bench_fail("etcd does not answer");
}

/* How long a put takes by way of that member: it is shortest where the leader is. */
static double member_median(unsigned port)
{
    struct store_turn run = {.job = STORE_PUTS, .at_once = 1, .seconds = 0.5};
    if (!connect_to(&connections[0], port))
        bench_fail("etcd does not answer");
    store_peer_run(&protocol, connections, &run);
    close(connections[0].fd);
    double median = bench_median(run.times.latencies, (int)run.times.count);
    free(run.times.latencies);
    return median;
}

static bool begin(const char *folder, bool in_memory)
{
    char place[3][512], name[3][8], peer[3][64], client[3][64], all[256];
    unsigned ports[3], leader = 0;
    double medians[3];
    if (in_memory || !store_is_installed("etcd"))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(place[i], sizeof place[i], "%s/etcd-%u", folder, i);
        snprintf(name[i], sizeof name[i], "m%u", i);
        snprintf(peer[i], sizeof peer[i], "http://127.0.0.1:%u", store_free_port());
        ports[i] = store_free_port();
        snprintf(client[i], sizeof client[i], "http://127.0.0.1:%u", ports[i]);
        if (mkdir(place[i], 0700))
            bench_fail("%s: %s", place[i], strerror(errno));
    }
    snprintf(all, sizeof all, "m0=%s,m1=%s,m2=%s", peer[0], peer[1], peer[2]);
    for (unsigned i = 0; i < 3; i++) {
        const char *words[] = {"etcd",    "--name",
                               name[i],   "--data-dir",
                               place[i],  "--listen-peer-urls",
                               peer[i],   "--initial-advertise-peer-urls",
                               peer[i],   "--listen-client-urls",
                               client[i], "--advertise-client-urls",
                               client[i], "--initial-cluster",
                               all,       "--initial-cluster-state",
                               "new",     "--logger",
                               "zap",     "--log-level",
                               "error",   NULL};
        store_spawn(place[i], words);
    }
    for (unsigned i = 0; i < 3; i++)
        member_await(ports[i]);
    for (unsigned i = 0; i < 3; i++) {
        medians[i] = member_median(ports[i]);
        leader = medians[i] < medians[leader] ? i : leader;
    }
    for (unsigned i = 0; i < STORE_AT_ONCE_MAX; i++)
        if (!connect_to(&connections[i], ports[leader]))
            bench_fail("etcd does not answer");
    return true;
}

static void run(struct store_turn *run)
{
    store_peer_run(&protocol, connections, run);
}

const struct store_side store_etcd = {"etcd", begin, run};
