/* store_redis: redis with two replicas, which sync their logs before they acknowledge, or have none
 * in memory. Each put is SET, then WAIT for both replicas. Programs use its Unix socket, the
 * fastest way to redis. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "store_side.h"

static struct store_connection connections[STORE_AT_ONCE_MAX];

static void ask(struct store_connection *connection, enum store_job job, const char *key)
{
    char out[STORE_VALUE + 256];
    int size;
    if (job == STORE_GETS)
        size = snprintf(out, sizeof out, "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n", strlen(key), key);
    else
        size = snprintf(out, sizeof out,
                        "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%d\r\n%.*s\r\n"
                        "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$1\r\n0\r\n",
                        strlen(key), key, STORE_VALUE, STORE_VALUE, store_value());
    store_send(connection, out, (size_t)size);
}

static int hear(struct store_connection *connection, enum store_job job)
{
    static const char put[] = "+OK\r\n:2\r\n";
    char head[16];
    size_t size = sizeof put - 1;
    if (job == STORE_GETS)
        size = (size_t)snprintf(head, sizeof head, "$%d\r\n", STORE_VALUE) + STORE_VALUE + 2;
    const char *wanted = job == STORE_GETS ? head : put;
    size_t known = strlen(wanted), have = connection->filled < known ? connection->filled : known;
    if (memcmp(connection->in, wanted, have) != 0)
        return -1;
    if (connection->filled < size)
        return 0;
    store_drop(connection, size);
    return 1;
}

static const struct store_protocol protocol = {ask, hear};

static void connect_to(struct store_connection *connection, const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size = snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    if (size >= (int)sizeof address.sun_path)
        bench_fail("%s: the path of the folder is too long for a socket", folder);
    for (int i = 0; i < 1000; i++) {
        connection->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!connect(connection->fd, (struct sockaddr *)&address, sizeof address))
            return;
        close(connection->fd);
        usleep(10000);
    }
    bench_fail("redis does not answer: %s: %s", address.sun_path, strerror(errno));
}

/* Waits until both replicas take part. */
static void replicas_await(struct store_connection *connection)
{
    static const char request[] = "SET key000000 x\r\nWAIT 2 100\r\n";
    for (int i = 0; i < 300; i++) {
        connection->filled = 0;
        store_send(connection, request, sizeof request - 1);
        while (!memchr(connection->in, ':', connection->filled) ||
               connection->in[connection->filled - 1] != '\n')
            if (!store_read(connection))
                bench_fail("redis has hung up");
        bool both = connection->filled >= 4 &&
                    !memcmp(connection->in + connection->filled - 4, ":2\r\n", 4);
        connection->filled = 0;
        if (both)
            return;
    }
    bench_fail("the replicas of redis do not take part");
}

static bool begin(const char *folder, bool in_memory)
{
    char place[3][512], port[3][16], sock[600], leader[32];
    if (!store_is_installed("redis-server"))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(place[i], sizeof place[i], "%s/redis-%u", folder, i);
        snprintf(port[i], sizeof port[i], "%u", store_free_port());
        snprintf(sock, sizeof sock, "%s/socket", place[i]);
        snprintf(leader, sizeof leader, "127.0.0.1 %s", port[0]);
        if (mkdir(place[i], 0700))
            bench_fail("%s: %s", place[i], strerror(errno));
        const char *words[] = {"redis-server",
                               "--port",
                               port[i],
                               "--bind",
                               "127.0.0.1",
                               "--dir",
                               place[i],
                               "--unixsocket",
                               sock,
                               "--save",
                               "",
                               "--appendonly",
                               in_memory ? "no" : "yes",
                               "--appendfsync",
                               "always",
                               "--auto-aof-rewrite-percentage",
                               "0",
                               "--repl-diskless-sync-delay",
                               "0",
                               i ? "--replicaof" : NULL,
                               leader,
                               NULL};
        store_spawn(place[i], words);
    }
    for (unsigned i = 0; i < STORE_AT_ONCE_MAX; i++)
        connect_to(&connections[i], place[0]);
    replicas_await(&connections[0]);
    return true;
}

static void run(struct store_turn *run)
{
    store_peer_run(&protocol, connections, run);
}

const struct store_side store_redis = {"redis", begin, run};
