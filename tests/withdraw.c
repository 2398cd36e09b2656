/* A program takes its return buffers back: from a peer that has not received the request, from one
 * that is stopped or killed, from one that got more offers than it keeps or drops the request, and
 * while the peer uses them. Every buffer is either withdrawn, and then the peer does not write into
 * it, or comes back with an item; never both. */
#include "fork.h"

#include <pthread.h>

#define SIZE       20000 /* of a return buffer */
#define ROUNDS     1500  /* of the race */
#define MESSAGES   80    /* with as many offers as a message has: more than a peer keeps */
#define SMALL      64    /* bytes of each of these */
#define STOPS      20    /* of a server that has received the request */
#define SPINS_MIN  1000  /* of the longest wait in the race */
#define SPINS_MAX  (1u << 28)
#define WITHDRAWN  0x55 /* what the client writes into a buffer that it got back */
#define REPLY_BYTE 0x77 /* what the server sends */

static const struct way ways[] = {
    {"shm", "host", "shm", NULL},
    {"udp", "host", "udp", "127.0.0.1"},
    {"fabric", "host", "fabric", "127.0.0.1"},
    {"cluster", "directory", "routed", NULL}, /* needs the nodes of two servers: withdraw_node.py */
};

/* The server is the child. It receives nothing before it is told. */
struct server {
    pid_t pid;
    int go;    /* the client writes here */
    int ready; /* the server writes here */
};

typedef void serve(struct ripc *ripc, struct ripc_service *service);

static struct server server_start(const struct way *way, serve *work)
{
    int go[2], ready[2];
    demand(pipe2(go, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    pid_t pid = fork();
    demand(pid >= 0);
    if (pid == 0) {
        fork_role = "server";
        alarm(STORY_LIMIT);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        struct ripc *ripc = fork_open(way);
        struct ripc_service *service = fork_bind(ripc, PEER_ID);
        tell(ready[1]);
        told(go[0]);
        work(ripc, service);
        demand(ripc_close(ripc, RIPC_NOW) <= 0);
        _exit(0);
    }
    fork_role = "client";
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) != 1) { /* it lacks the transport, or has failed */
        int status;
        demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        _exit(WEXITSTATUS(status));
    }
    return (struct server){pid, go[1], ready[0]};
}

static void server_end(const struct server *server)
{
    int status;
    close(server->go);
    close(server->ready);
    demand(waitpid(server->pid, &status, 0) == server->pid);
    demand(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Sends a request with one return buffer. */
static void request(struct ripc_service *client, void *buffer, size_t size)
{
    struct iovec word = {"get", 4}, returns = {buffer, size};
    struct ripc_send send = {
        .to = PEER_ID,
        .shorts = &word,
        .short_count = 1,
        .returns = &returns,
        .return_count = 1,
        .deadline = soon(),
    };
    demand_result(ripc_send_message(client, &send), 0);
}

/* Receives a request and answers with one long item, which the client takes or rejects. */
static void answer(struct ripc *ripc, struct ripc_service *service)
{
    struct ripc_message message;
    struct ripc_event events[16];
    static uint8_t *data;
    if (!data) {
        data = ripc_alloc(ripc, SIZE);
        demand(data);
        memset(data, REPLY_BYTE, SIZE);
    }
    demand_result(ripc_receive(service, &message, 1, soon()), 1);
    struct iovec item = {data, SIZE};
    struct ripc_send send = {
        .to = message.from, .longs = &item, .long_count = 1, .deadline = soon()};
    demand(ripc_send_message(service, &send) >= 0);
    ripc_release(&message);
    while (ripc_poll(service, events, 16, RIPC_NOW) == 16)
        ;
}

/* Receives the answer. Returns whether its item is in the return buffer. */
static bool receive_answer(struct ripc_service *client, const uint8_t *buffer)
{
    struct ripc_message message;
    demand_result(ripc_receive(client, &message, 1, soon()), 1);
    demand(message.from == PEER_ID && message.long_count == 1);
    const struct ripc_item *item = &message.longs[0];
    bool returned = item->returned;
    if (returned) {
        demand_result(item->status, 0);
        demand(item->data == buffer && buffer[0] == REPLY_BYTE && buffer[SIZE - 1] == REPLY_BYTE);
    } else
        demand_result(item->status, -EINPROGRESS); /* to be pulled */
    ripc_release(&message);
    return returned;
}

static bool is_filled(const uint8_t *buffer, uint8_t byte)
{
    for (size_t i = 0; i < SIZE; i++)
        if (buffer[i] != byte)
            return false;
    return true;
}

static void serve_two(struct ripc *ripc, struct ripc_service *service)
{
    answer(ripc, service);
    answer(ripc, service);
}

/* ---- a slow server ---- */

/* The server's program has not received the request; its process runs. */
static void story_slow(const struct story *story)
{
    struct server server = server_start(story->way, serve_two);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    request(client, buffer, SIZE);
    demand_result(ripc_free(ripc, buffer), -EBUSY);
    demand_result(ripc_withdraw(client, buffer, soon()), 0);
    demand_result(ripc_withdraw(client, buffer, soon()), -ENOENT);
    memset(buffer, WITHDRAWN, SIZE);
    tell(server.go);
    demand(!receive_answer(client, buffer));
    demand(is_filled(buffer, WITHDRAWN));
    request(client, buffer, SIZE); /* the same buffer can be offered again */
    demand(receive_answer(client, buffer));
    demand_result(ripc_withdraw(client, buffer, soon()), -ENOENT);
    demand_result(ripc_free(ripc, buffer), 0);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
    server_end(&server);
}

/* ---- a stopped server ---- */

static void stop(pid_t pid)
{
    int status;
    demand(kill(pid, SIGSTOP) == 0);
    demand(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

/* Over shm the buffer is free at once. Over other transports it is while the server is stopped not
 * known whether it will use the buffer; and it is not given back. */
static void story_stopped(const struct story *story)
{
    bool shared = !strcmp(story->way->transports, "shm");
    struct server server = server_start(story->way, serve_two);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    request(client, buffer, SIZE);
    stop(server.pid);
    demand_result(ripc_withdraw(client, buffer, RIPC_NOW), shared ? 0 : -EAGAIN);
    if (!shared) {
        demand_result(ripc_withdraw(client, buffer, ripc_after(SECOND / 100)), -ETIMEDOUT);
        demand_result(ripc_free(ripc, buffer), -EBUSY);
        demand(kill(server.pid, SIGCONT) == 0);
        demand_result(ripc_withdraw(client, buffer, soon()), 0);
    }
    memset(buffer, WITHDRAWN, SIZE);
    demand(kill(server.pid, SIGCONT) == 0);
    tell(server.go);
    demand(!receive_answer(client, buffer));
    demand(is_filled(buffer, WITHDRAWN));
    request(client, buffer, SIZE);
    demand(receive_answer(client, buffer));
    demand_result(ripc_free(ripc, buffer), 0);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
    server_end(&server);
}

/* ---- a server that has received the request, and is stopped or killed ---- */

static void receive_word(struct ripc_service *service, const char *word)
{
    struct ripc_message message;
    demand_result(ripc_receive(service, &message, 1, soon()), 1);
    demand(message.size == strlen(word) + 1 && !memcmp(message.data, word, message.size));
    ripc_release(&message);
}

/* Receives requests and keeps their return buffers, until another message comes. */
static void serve_keeping(struct ripc *ripc, struct ripc_service *service)
{
    struct ripc_message message;
    bool more = true;
    (void)ripc;
    while (more) {
        demand_result(ripc_receive(service, &message, 1, soon()), 1);
        more = message.return_count;
        ripc_release(&message);
        if (more)
            demand_result(ripc_send(service, PARENT_ID, "got", 4, soon()), 0);
    }
}

/* Both questions wait for the server. Its first answer counts; by then the server has removed the
 * offer, and answers the second question differently. */
static void story_asked_twice(const struct story *story)
{
    struct server server = server_start(story->way, serve_keeping);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    tell(server.go);
    for (unsigned i = 0; i < STOPS; i++) {
        request(client, buffer, SIZE);
        receive_word(client, "got");
        stop(server.pid);
        demand_result(ripc_withdraw(client, buffer, RIPC_NOW), -EAGAIN);
        demand_result(ripc_withdraw(client, buffer, ripc_after(SECOND / 1000)), -ETIMEDOUT);
        demand(kill(server.pid, SIGCONT) == 0);
        demand_result(ripc_withdraw(client, buffer, soon()), 0);
        demand_result(ripc_withdraw(client, buffer, soon()), -ENOENT);
    }
    demand_result(ripc_free(ripc, buffer), 0);
    demand_result(ripc_send(client, PEER_ID, "end", 4, soon()), 0);
    server_end(&server);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

static void server_reap(const struct server *server)
{
    int status;
    close(server->go);
    close(server->ready);
    demand(waitpid(server->pid, &status, 0) == server->pid);
    demand(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

struct killer {
    struct ripc *ripc;
    uint64_t blocks; /* sleeps before the call */
    pid_t pid;
};

/* Kills the server once the call sleeps. */
static void *kill_when_asleep(void *argument)
{
    const struct killer *killer = argument;
    struct ripc_stats stats = {0};
    do
        demand_result(ripc_stats(killer->ripc, &stats), 0);
    while (stats.blocks == killer->blocks);
    demand(kill(killer->pid, SIGKILL) == 0);
    return NULL;
}

/* The server is killed while the client waits for its answer. */
static void story_killed_meanwhile(const struct story *story)
{
    struct server server = server_start(story->way, serve_keeping);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    struct ripc_stats stats = {0};
    pthread_t thread;
    tell(server.go);
    request(client, buffer, SIZE);
    receive_word(client, "got");
    stop(server.pid);
    demand_result(ripc_stats(ripc, &stats), 0);
    struct killer killer = {ripc, stats.blocks, server.pid};
    demand(pthread_create(&thread, NULL, kill_when_asleep, &killer) == 0);
    demand_result(ripc_withdraw(client, buffer, soon()), 0);
    demand(pthread_join(thread, NULL) == 0);
    demand_result(ripc_withdraw(client, buffer, soon()), -ENOENT);
    demand_result(ripc_free(ripc, buffer), 0);
    server_reap(&server);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

/* The server is dead, and the client, which notices that only in its calls, has made none since. */
static void story_killed_unnoticed(const struct story *story)
{
    struct server server = server_start(story->way, serve_keeping);
    struct ripc_config config = {
        .names = story->way->names,
        .transports = story->way->transports,
        .address = story->way->address,
        .node = strcmp(story->way->names, "directory") ? NULL : fork_node(),
        .flags = RIPC_MANUAL,
    };
    struct ripc *ripc;
    demand_result(ripc_open(&config, &ripc), 0);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    tell(server.go);
    request(client, buffer, SIZE);
    receive_word(client, "got");
    demand(kill(server.pid, SIGKILL) == 0);
    server_reap(&server);
    demand_result(ripc_withdraw(client, buffer, soon()), 0);
    demand_result(ripc_withdraw(client, buffer, soon()), -ENOENT);
    demand_result(ripc_free(ripc, buffer), 0);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

/* ---- a request that is cancelled ---- */

static void serve_word(struct ripc *ripc, struct ripc_service *service)
{
    (void)ripc;
    receive_word(service, "next"); /* and nothing of the cancelled request */
    demand_result(ripc_send(service, PARENT_ID, "got", 4, soon()), 0);
    receive_word(service, "end");
}

/* The server drops a request whose operation was cancelled. Its return buffers can be withdrawn,
 * and the one that the library allocated is free. */
static void story_cancelled(const struct story *story)
{
    struct server server = server_start(story->way, serve_word);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *one = ripc_alloc(ripc, SIZE), *two = ripc_alloc(ripc, SIZE);
    uint8_t *data = ripc_alloc(ripc, SIZE);
    struct iovec item = {data, SIZE}, returns[3] = {{one, SIZE}, {two, SIZE}, {NULL, SIZE}};
    struct ripc_send send = {
        .to = PEER_ID,
        .longs = &item,
        .long_count = 1,
        .returns = returns,
        .return_count = 3,
        .deadline = soon(),
    };
    int64_t operation = ripc_send_message(client, &send);
    demand(operation > 0);
    demand_result(ripc_cancel(client, operation, RIPC_NOW), -EAGAIN);
    /* The answer comes after the server's library knows of the cancellation. */
    demand_result(ripc_withdraw(client, one, soon()), 0);
    demand_result(ripc_send(client, PEER_ID, "next", 5, soon()), 0);
    tell(server.go);
    receive_word(client, "got");
    demand_result(ripc_wait(client, operation, soon()), -ECANCELED);
    demand_result(ripc_withdraw(client, two, soon()), 0);
    struct ripc_stats stats = {0};
    int64_t until = soon();
    do {
        demand(ripc_now() < until);
        demand_result(ripc_stats(ripc, &stats), 0);
    } while (stats.buffers != 3);
    demand_result(ripc_free(ripc, one), 0);
    demand_result(ripc_free(ripc, two), 0);
    demand_result(ripc_free(ripc, data), 0);
    demand_result(ripc_send(client, PEER_ID, "end", 4, soon()), 0);
    server_end(&server);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

/* ---- too many offers ---- */

static void serve_many(struct ripc *ripc, struct ripc_service *service)
{
    struct ripc_message message;
    (void)ripc;
    for (unsigned i = 0; i < MESSAGES; i++) {
        demand_result(ripc_receive(service, &message, 1, soon()), 1);
        demand_result(message.return_count, RIPC_ITEM_MAX);
        ripc_release(&message);
    }
    demand_result(ripc_send(service, PARENT_ID, "done", 5, soon()), 0);
    demand_result(ripc_receive(service, &message, 1, RIPC_FOREVER), 1); /* until all is withdrawn */
    ripc_release(&message);
}

/* The server has received all and keeps only some of the offers: all can be withdrawn. */
static void story_many(const struct story *story)
{
    struct server server = server_start(story->way, serve_many);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffers = ripc_alloc(ripc, (size_t)MESSAGES * RIPC_ITEM_MAX * SMALL);
    struct ripc_message message;
    tell(server.go);
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct iovec returns[RIPC_ITEM_MAX];
        for (unsigned j = 0; j < RIPC_ITEM_MAX; j++)
            returns[j] = (struct iovec){buffers + (size_t)(i * RIPC_ITEM_MAX + j) * SMALL, SMALL};
        struct ripc_send send = {
            .to = PEER_ID, .returns = returns, .return_count = RIPC_ITEM_MAX, .deadline = soon()};
        demand_result(ripc_send_message(client, &send), 0);
    }
    demand_result(ripc_receive(client, &message, 1, soon()), 1);
    ripc_release(&message);
    for (unsigned i = 0; i < MESSAGES * RIPC_ITEM_MAX; i++)
        demand_result(ripc_withdraw(client, buffers + (size_t)i * SMALL, soon()), 0);
    demand_result(ripc_free(ripc, buffers), 0);
    demand_result(ripc_send(client, PEER_ID, "end", 4, soon()), 0);
    server_end(&server);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

/* ---- a race ---- */

static unsigned race_pause_usec; /* of the server before an answer, at most */

static void serve_race(struct ripc *ripc, struct ripc_service *service)
{
    struct ripc_message message;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (race_pause_usec)
            usleep((unsigned)random() % race_pause_usec);
        answer(ripc, service);
    }
    demand_result(ripc_receive(service, &message, 1, soon()), 1); /* until the client has ended */
    ripc_release(&message);
}

/* The client withdraws at any time between its request and the answer. It waits longer after a
 * withdrawal that succeeded, and less after one that came too late, so that both happen often. In a
 * cluster the withdrawal takes longer than the request, so the server waits as well. */
static void story_race(const struct story *story)
{
    race_pause_usec = strcmp(story->way->transports, "routed") ? 0 : 2000;
    struct server server = server_start(story->way, serve_race);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    unsigned withdrawn = 0, used = 0, longest = SPINS_MIN;
    tell(server.go);
    srandom(20);
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(buffer, 0, SIZE);
        request(client, buffer, SIZE);
        for (volatile unsigned spins = (unsigned)random() % longest; spins; spins--)
            ;
        int result = ripc_withdraw(client, buffer, soon());
        if (result == 0) {
            memset(buffer, WITHDRAWN, SIZE);
            withdrawn++;
            longest = longest < SPINS_MAX ? longest + longest / 4 : longest;
        } else {
            demand_result(result, -EALREADY);
            used++;
            longest = longest > SPINS_MIN ? longest - longest / 5 : longest;
        }
        demand(receive_answer(client, buffer) == (result != 0));
        demand(result != 0 || is_filled(buffer, WITHDRAWN));
    }
    fprintf(stderr, "# %u withdrawn, %u used\n", withdrawn, used);
    demand(withdrawn && used);
    demand_result(ripc_free(ripc, buffer), 0);
    demand_result(ripc_send(client, PEER_ID, "end", 4, soon()), 0);
    server_end(&server);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

/* ---- a server that ends ---- */

static void serve_one(struct ripc *ripc, struct ripc_service *service)
{
    answer(ripc, service);
}

/* The server answers and ends while the client, which has not received the answer, withdraws. */
static void story_ended(const struct story *story)
{
    struct server server = server_start(story->way, serve_one);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *client = fork_bind(ripc, PARENT_ID);
    uint8_t *buffer = ripc_alloc(ripc, SIZE);
    request(client, buffer, SIZE);
    tell(server.go);
    int result, status;
    pid_t ended = 0;
    do { /* if the server used the buffer, until its end is noticed here */
        ended = ended ? ended : waitpid(server.pid, &status, WNOHANG);
        result = ripc_withdraw(client, buffer, soon());
    } while (result == -EALREADY);
    demand_result(result, 0);
    demand_result(ripc_free(ripc, buffer), 0);
    demand(ended || waitpid(server.pid, &status, 0) == server.pid);
    demand(ended >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    demand(ripc_close(ripc, RIPC_NOW) <= 0);
}

static const struct story stories[] = {
    {"a slow server", 0, &ways[0], story_slow, false},
    {"a slow server", 0, &ways[1], story_slow, false},
    {"a slow server", 0, &ways[2], story_slow, false},
    {"a slow server", 0, &ways[3], story_slow, false},
    {"a stopped server", 0, &ways[0], story_stopped, false},
    {"a stopped server", 0, &ways[1], story_stopped, false},
    {"a stopped server", 0, &ways[2], story_stopped, false},
    {"a stopped server", 0, &ways[3], story_stopped, false},
    {"a stopped server that is asked twice", 0, &ways[1], story_asked_twice, false},
    {"a stopped server that is asked twice", 0, &ways[2], story_asked_twice, false},
    {"a stopped server that is asked twice", 0, &ways[3], story_asked_twice, false},
    {"a server that is killed meanwhile", 0, &ways[1], story_killed_meanwhile, false},
    {"a server that is killed meanwhile", 0, &ways[2], story_killed_meanwhile, false},
    {"a server that is killed meanwhile", 0, &ways[3], story_killed_meanwhile, false},
    {"a server that was killed unnoticed", 0, &ways[0], story_killed_unnoticed, false},
    {"a server that was killed unnoticed", 0, &ways[1], story_killed_unnoticed, false},
    {"a server that was killed unnoticed", 0, &ways[2], story_killed_unnoticed, false},
    {"a server that was killed unnoticed", 0, &ways[3], story_killed_unnoticed, false},
    {"a cancelled request", 0, &ways[1], story_cancelled, false},
    {"a cancelled request", 0, &ways[2], story_cancelled, false},
    {"a cancelled request", 0, &ways[3], story_cancelled, false},
    {"more offers than a server keeps", 0, &ways[0], story_many, false},
    {"more offers than a server keeps", 0, &ways[1], story_many, false},
    {"more offers than a server keeps", 0, &ways[2], story_many, false},
    {"more offers than a server keeps", 0, &ways[3], story_many, false},
    {"a race of withdrawal and use", 0, &ways[0], story_race, false},
    {"a race of withdrawal and use", 0, &ways[1], story_race, false},
    {"a race of withdrawal and use", 0, &ways[2], story_race, false},
    {"a race of withdrawal and use", 0, &ways[3], story_race, false},
    {"a server that ends", 0, &ways[0], story_ended, false},
    {"a server that ends", 0, &ways[1], story_ended, false},
    {"a server that ends", 0, &ways[2], story_ended, false},
    {"a server that ends", 0, &ways[3], story_ended, false},
};

int main(int count, char **words)
{
    return stories_run(stories, sizeof stories / sizeof *stories, count > 1 ? words[1] : NULL);
}
