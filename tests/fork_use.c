/* A child of fork uses what its parent opened. Every call must return -ECHILD and change nothing:
 * the parent keeps its name and its connections, and continues to send and receive. The child may
 * open a context of its own, and then talk with its parent.
 *
 *   fork_use_test [WORD]     only the stories whose name contains the word */
#include <pthread.h>
#include <sys/syscall.h>

#include <weft/sst_multicast.h>

#include "fork.h"

#define BUSY_ID     101 /* a second service of the parent, used by another thread */
#define LONG_SIZE   100000
#define ROUNDS      200
#define FORKS       60
#define DESCRIPTORS 256
#define LISTINGS    200 /* so that many of the forks happen during one */

static const struct way ways[] = {
    {"shared memory", "host", "shm", NULL},
    {"udp", "host", "udp", "127.0.0.1"},
    {"fabric", "host", "fabric", "127.0.0.1"},
    {"multicast names", "multicast", "shm", NULL},
};

struct row {
    uint64_t step;
};

static const struct sst_column columns[] = {SST_COLUMN(struct row, step, SST_U64, 0)};

/* Everything that the parent has opened when it forks. */
static struct {
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_service *busy;
    struct ripc_message message; /* with a pending long item */
    struct ripc_notice *notice;
    struct ripc_notice *called;
    struct ripc_handle handle;
    struct ripc_grant grant;
    void *buffer;
    char *own; /* memory of the program */
    struct sst *table;
    struct sst_multicast *multicast;
    uint64_t predicate;
} mine;

static int calls;     /* of the notice with a callback; atomic */
static int delivered; /* messages of the multicast; atomic */

static void on_notice(void *argument, uint64_t count, uint64_t value)
{
    (void)argument, (void)value;
    __atomic_fetch_add(&calls, (int)count, __ATOMIC_RELEASE);
}

static void on_deliver(struct sst_multicast *multicast,
                       const struct sst_multicast_message *messages, unsigned count, void *argument)
{
    (void)multicast, (void)messages, (void)argument;
    __atomic_fetch_add(&delivered, (int)count, __ATOMIC_RELEASE);
}

static bool never(const struct sst *table, void *argument)
{
    (void)table, (void)argument;
    return false;
}

static void on_name(void *argument, const struct ripc_name *name)
{
    (void)argument, (void)name;
}

/* ---- the calls of a child ---- */

static void use_messages(void)
{
    struct ripc_message message;
    struct ripc_event event;
    struct iovec piece = {(void *)"x", 1};
    struct iovec item = {mine.buffer, 64};
    struct ripc_send plain = {.to = PEER_ID, .shorts = &piece, .short_count = 1};
    struct ripc_send rich = {.to = PEER_ID, .longs = &item, .long_count = 1, .deadline = RIPC_NOW};
    demand_result(ripc_send(mine.service, PEER_ID, "x", 1, RIPC_NOW), -ECHILD);
    demand_result(ripc_send(mine.service, PEER_ID, "x", 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_send(mine.busy, PEER_ID, "x", 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_send_message(mine.service, &plain), -ECHILD);
    demand_result(ripc_send_message(mine.service, &rich), -ECHILD);
    demand_result(ripc_receive(mine.service, &message, 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_receive(mine.busy, &message, 1, RIPC_NOW), -ECHILD);
    demand_result(ripc_poll(mine.service, &event, 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_wait(mine.service, 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_cancel(mine.service, 1, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_withdraw(mine.service, mine.buffer, RIPC_NOW), -ECHILD);
    demand_result(ripc_fetch(&mine.message, 0, mine.own, LONG_SIZE, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_reject(&mine.message, 0), -ECHILD);
    ripc_release(&mine.message);
    demand_result(ripc_fetch(&mine.message, 0, mine.own, LONG_SIZE, RIPC_FOREVER), -ECHILD);
    demand(ripc_transport(mine.service, PEER_ID) == NULL);
    demand_result(ripc_fd(mine.service), -ECHILD);
    demand_result(ripc_arm(mine.service), -ECHILD);
    /* What only reads memory of this process still works. */
    size_t size = 0;
    demand(ripc_service_id(mine.service) == PARENT_ID);
    demand(ripc_short(&mine.message, 0, &size) == mine.message.data && size == 6);
    demand(!memcmp(mine.message.data, "letter", 6));
}

static void use_memory(void)
{
    struct ripc_grant grant;
    demand(ripc_alloc(mine.ripc, 100) == NULL);
    demand(ripc_resize(mine.ripc, mine.buffer, 100000) == NULL);
    demand_result(ripc_free(mine.ripc, mine.buffer), -ECHILD);
    demand_result(ripc_register(mine.ripc, &grant, sizeof grant), -ECHILD);
    demand_result(ripc_unregister(mine.ripc, mine.own), -ECHILD);
    demand_result(ripc_window_add(mine.ripc, NULL, mine.buffer, 10), -ECHILD);
    demand_result(ripc_window_remove(mine.ripc, mine.service, mine.buffer), -ECHILD);
    demand_result(ripc_grant(mine.service, PEER_ID, mine.own, 8, RIPC_READ, &grant), -ECHILD);
    demand_result(ripc_revoke(mine.service, &mine.grant, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_read(mine.service, &mine.grant, 0, &grant, 8, RIPC_NOW), -ECHILD);
    demand_result(ripc_write(mine.service, &mine.grant, 0, &grant, 8, RIPC_NOW), -ECHILD);
}

static void use_rest(void)
{
    struct ripc_service *service;
    struct ripc_notice *notice;
    struct ripc_handle handle;
    struct ripc_stats stats;
    uint64_t value;
    demand_result(ripc_bind(mine.ripc, 999, 0, &service), -ECHILD);
    demand_result(ripc_join(mine.service, 555), -ECHILD);
    demand_result(ripc_leave(mine.service, 555), -ECHILD);
    demand_result(ripc_retire(mine.service, 0), -ECHILD);
    demand_result(ripc_watch(mine.service, 1), -ECHILD);
    demand_result(ripc_unwatch(mine.service, 1), -ECHILD);
    demand_result(ripc_notice_open(mine.ripc, NULL, NULL, &notice, &handle), -ECHILD);
    demand_result(ripc_notice_wait(mine.notice, &value, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_notice_fd(mine.notice), -ECHILD);
    demand_result(ripc_notify(mine.service, &mine.handle, 1, RIPC_NOW), -ECHILD);
    demand_result(ripc_notice_close(mine.notice), -ECHILD);
    demand_result(ripc_notice_close(mine.called), -ECHILD);
    demand_result(ripc_progress(mine.ripc), -ECHILD);
    demand_result(ripc_stats(mine.ripc, &stats), -ECHILD);
    demand_result(ripc_list(mine.ripc, on_name, NULL), -ECHILD);
    demand_result(ripc_retire(mine.busy, 0), -ECHILD);
    demand_result(ripc_unbind(mine.busy), -ECHILD);
    demand_result(ripc_unbind(mine.service), -ECHILD);
    demand_result(ripc_close(mine.ripc, RIPC_FOREVER), -ECHILD);
    demand_result(ripc_close(mine.ripc, RIPC_NOW), -ECHILD);
    demand(strstr(ripc_strerror(-ECHILD), "fork"));
}

static void use_table(void)
{
    static const struct sst_predicate predicate = {.kind = SST_ONCE, .holds = never};
    struct sst_range range = {0, 0, 0};
    struct sst *table;
    struct sst_stats stats;
    struct sst_snapshot *snapshot;
    struct row row;
    uint64_t handle;
    struct sst_config config = {
        .table = 8, .columns = columns, .column_count = 1, .row_size = sizeof(struct row)};
    demand_result(sst_open(mine.ripc, &config, &table), -ECHILD);
    demand_result(sst_set_u64(mine.table, 0, 99), -ECHILD);
    demand_result(sst_set_i64(mine.table, 0, 99), -ECHILD);
    demand_result(sst_set_f64(mine.table, 0, 99), -ECHILD);
    demand_result(sst_put(mine.table, &range, 1, NULL), -ECHILD);
    demand_result(sst_publish(mine.table, &range, 1, 0, 99, NULL), -ECHILD);
    demand_result(sst_flush(mine.table, RIPC_FOREVER), -ECHILD);
    demand_result(sst_barrier(mine.table, RIPC_FOREVER), -ECHILD);
    demand_result(sst_get(mine.table, 0, &range, &row), -ECHILD);
    demand_result(sst_row(mine.table, 0, &row), -ECHILD);
    demand_result(sst_row_of(mine.table, PEER_ID), -ECHILD);
    demand_result(sst_snapshot_take(mine.table, &snapshot), -ECHILD);
    demand_result(sst_freeze(mine.table, 0), -ECHILD);
    demand_result(sst_predicate_add(mine.table, &predicate, &handle), -ECHILD);
    demand_result(sst_trigger_add(mine.table, mine.predicate, NULL, NULL), -ECHILD);
    demand_result(sst_predicate_remove(mine.table, mine.predicate), -ECHILD);
    demand_result(sst_wait(mine.table, never, NULL, NULL, 0, RIPC_FOREVER), -ECHILD);
    demand_result(sst_step(mine.table, RIPC_NOW), -ECHILD);
    demand_result(sst_stats(mine.table, &stats), -ECHILD);
    demand_result(sst_close(mine.table, RIPC_NOW), -ECHILD);
    demand(sst_live_count(mine.table) == 2); /* reading a number still works */
}

static void use_multicast(void)
{
    struct sst_multicast_config config = {.table = 10, .deliver = on_deliver};
    struct sst_multicast *multicast;
    struct sst_multicast_stats stats;
    struct iovec piece = {(void *)"x", 1};
    demand_result(sst_multicast_open(mine.ripc, &config, &multicast), -ECHILD);
    demand_result(sst_multicast_send(mine.multicast, "x", 1, RIPC_FOREVER), -ECHILD);
    demand_result(sst_multicast_send_many(mine.multicast, &piece, 1, RIPC_FOREVER), -ECHILD);
    demand_result(sst_multicast_step(mine.multicast, RIPC_NOW), -ECHILD);
    demand_result(sst_multicast_stats(mine.multicast, &stats), -ECHILD);
    demand_result(sst_multicast_close(mine.multicast, RIPC_NOW), -ECHILD);
}

static void use_everything(void)
{
    use_messages();
    use_memory();
    use_table();
    use_multicast();
    use_rest();
}

/* ---- the parent ---- */

enum kind {
    USE_EXIT,   /* the child ends by exit(), which runs the handlers of all libraries */
    USE_KILLED, /* the child is killed */
    USE_CLONE,  /* the child comes from the bare system call, for which no handlers run */
    USE_OWN,    /* the child opens a context of its own first */
};

static _Noreturn void child_use(const struct story *story)
{
    fork_role = "child";
    struct ripc *ripc = NULL;
    if (story->kind == USE_OWN)
        ripc = fork_open(story->way);
    use_everything();
    if (story->kind == USE_KILLED)
        raise(SIGKILL);
    if (story->kind == USE_CLONE)
        _exit(0);
    if (ripc)
        demand_result(ripc_close(ripc, RIPC_NOW), 0);
    exit(0);
}

static void child_run(const struct story *story)
{
    int status;
    pid_t pid =
        story->kind == USE_CLONE ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) : fork();
    if (pid == 0)
        child_use(story);
    demand(pid > 0 && waitpid(pid, &status, 0) == pid);
    demand(story->kind == USE_KILLED ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                     : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *busy_run(void *argument)
{
    (void)argument;
    while (echo(mine.busy))
        ;
    return NULL;
}

static void tables_open(struct ripc *ripc, ripc_id id, struct sst **table,
                        struct sst_multicast **multicast)
{
    struct sst_config config = {.table = 7,
                                .columns = columns,
                                .column_count = 1,
                                .row_size = sizeof(struct row),
                                .member = id + 1000,
                                .rows_wanted = 2,
                                .deadline = soon()};
    struct sst_multicast_config group = {.table = 9,
                                         .members_wanted = 2,
                                         .deliver = on_deliver,
                                         .member = id + 2000,
                                         .deadline = soon()};
    demand_result(sst_open(ripc, &config, table), 0);
    demand_result(sst_multicast_open(ripc, &group, multicast), 0);
}

static void parent_prepare(const struct story *story)
{
    static const struct sst_predicate predicate = {.kind = SST_ONCE, .holds = never};
    mine.ripc = fork_open(story->way);
    mine.service = fork_bind(mine.ripc, PARENT_ID);
    mine.busy = fork_bind(mine.ripc, BUSY_ID);
    mine.buffer = ripc_alloc(mine.ripc, LONG_SIZE);
    mine.own = calloc(1, LONG_SIZE);
    demand(mine.buffer && mine.own);
    demand_result(ripc_register(mine.ripc, mine.own, LONG_SIZE), 0);
    demand_result(ripc_notice_open(mine.ripc, NULL, NULL, &mine.notice, &mine.handle), 0);
    struct ripc_handle handles[2] = {mine.handle};
    demand_result(ripc_notice_open(mine.ripc, on_notice, NULL, &mine.called, &handles[1]), 0);
    demand_result(ripc_join(mine.service, 555), 0);
    tables_open(mine.ripc, PARENT_ID, &mine.table, &mine.multicast);
    demand_result(sst_predicate_add(mine.table, &predicate, &mine.predicate), 0);
    demand_result(ripc_receive(mine.service, &mine.message, 1, soon()), 1);
    demand(mine.message.long_count == 1 && mine.message.longs[0].status == -EINPROGRESS);
    demand_result(ripc_grant(mine.service, PEER_ID, mine.own, 64, RIPC_READ, &mine.grant), 0);
    demand_result(ripc_send(mine.service, PEER_ID, handles, sizeof handles, soon()), 0);
    demand_result(ripc_send(mine.service, PEER_ID, &mine.grant, sizeof mine.grant, soon()), 0);
}

/* All that the child tried to change is as it was. */
static void parent_verify(void)
{
    uint64_t value = 0;
    struct ripc_message message;
    int64_t until = soon();
    demand(mine.message.longs[0].status == -EINPROGRESS);
    demand_result(ripc_fetch(&mine.message, 0, mine.buffer, LONG_SIZE, soon()), 0);
    for (unsigned i = 0; i < LONG_SIZE; i++)
        demand(((char *)mine.buffer)[i] == 'L');
    ripc_release(&mine.message);
    demand_result(ripc_send(mine.service, PEER_ID, "notify", 7, soon()), 0);
    demand_result(ripc_notice_wait(mine.notice, &value, soon()), 1);
    demand(value == 42);
    while (!__atomic_load_n(&calls, __ATOMIC_ACQUIRE))
        demand(ripc_now() < until);
    demand_result(sst_set_u64(mine.table, 0, 5), 0);
    demand_result(sst_multicast_send(mine.multicast, "m", 1, soon()), 0);
    /* A message to the group, of which the parent is still a member. */
    demand_result(ripc_receive(mine.service, &message, 1, soon()), 1);
    demand(message.to == 555);
    ripc_release(&message);
    for (int i = 0; i < ROUNDS; i++)
        demand(echo(mine.service));
    for (int i = 0; i < ROUNDS; i++)
        ping(mine.service, PEER_ID, "from the parent");
}

static void parent_close(void)
{
    demand_result(ripc_revoke(mine.service, &mine.grant, soon()), 0);
    demand_result(sst_multicast_close(mine.multicast, soon()), 0);
    demand_result(sst_close(mine.table, soon()), 0);
    demand_result(ripc_notice_close(mine.notice), 0);
    demand_result(ripc_notice_close(mine.called), 0);
    demand_result(ripc_unregister(mine.ripc, mine.own), 0);
    demand_result(ripc_free(mine.ripc, mine.buffer), 0);
    demand_result(ripc_unbind(mine.busy), 0);
    demand_result(ripc_unbind(mine.service), 0);
    demand_result(ripc_close(mine.ripc, soon()), 0);
    free(mine.own);
}

static _Noreturn void parent_run(const struct story *story, int forked)
{
    pthread_t busy;
    fork_role = "parent";
    parent_prepare(story);
    demand(pthread_create(&busy, NULL, busy_run, NULL) == 0);
    demand(echo(mine.service)); /* the peer has its thread, too */
    for (int i = 0; i < 3; i++)
        child_run(story);
    tell(forked);
    demand(pthread_join(busy, NULL) == 0);
    parent_verify();
    demand(!echo(mine.service));
    parent_close();
    _exit(0);
}

/* ---- the peer ---- */

struct peer {
    struct ripc_service *service;
    int forked;
};

/* Keeps a thread of the parent busy while the parent forks, so that its lock is often held. */
static void *peer_busy(void *argument)
{
    struct peer *peer = argument;
    char byte;
    int result;
    demand(fcntl(peer->forked, F_SETFL, O_NONBLOCK) == 0);
    do
        ping(peer->service, BUSY_ID, "busy");
    while ((result = (int)read(peer->forked, &byte, 1)) < 0 && errno == EAGAIN);
    demand(result == 1);
    ping(peer->service, BUSY_ID, "stop");
    return NULL;
}

static bool parent_has_put(const struct sst *table, void *argument)
{
    (void)argument;
    return sst_maximum_u64(table, 0) == 5;
}

static void peer_receive(struct ripc_service *service, void *out, size_t size)
{
    struct ripc_message message;
    demand_result(ripc_receive(service, &message, 1, soon()), 1);
    demand(message.size == size);
    memcpy(out, message.data, size);
    ripc_release(&message);
}

static void peer_letter(struct ripc *ripc, struct ripc_service *service, int64_t *operation)
{
    char *item = ripc_alloc(ripc, LONG_SIZE);
    demand(item);
    memset(item, 'L', LONG_SIZE);
    struct iovec piece = {(void *)"letter", 6}, longs = {item, LONG_SIZE};
    struct ripc_send send = {.to = PARENT_ID,
                             .shorts = &piece,
                             .longs = &longs,
                             .short_count = 1,
                             .long_count = 1,
                             .deadline = soon()};
    *operation = ripc_send_message(service, &send);
    demand(*operation > 0);
}

static void story_use(const struct story *story)
{
    struct peer peer;
    struct ripc_handle handles[2];
    struct ripc_grant grant;
    struct ripc_service *second;
    struct sst *table;
    struct sst_multicast *multicast;
    int forked[2], status;
    int64_t operation;
    uint32_t step = 0;
    char word[64];
    pthread_t busy;
    demand(pipe2(forked, O_CLOEXEC) == 0);
    pid_t parent = fork();
    if (parent == 0)
        parent_run(story, forked[1]);
    close(forked[1]);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PEER_ID);
    peer = (struct peer){fork_bind(ripc, PEER_ID + 1), forked[0]};
    tables_open(ripc, PEER_ID, &table, &multicast);
    peer_letter(ripc, service, &operation);
    peer_receive(service, handles, sizeof handles);
    peer_receive(service, &grant, sizeof grant);
    demand_result(ripc_read(service, &grant, 0, word, sizeof word, soon()), 0);
    demand(pthread_create(&busy, NULL, peer_busy, &peer) == 0);
    ping(service, PARENT_ID, "begin");
    demand(pthread_join(busy, NULL) == 0);

    /* The parent has forked. It still has its name, and all that it had opened works. */
    demand_result(ripc_bind(ripc, PARENT_ID, 0, &second), -EADDRINUSE);
    peer_receive(service, word, 7);
    demand_result(ripc_wait(service, operation, soon()), 0);
    demand_result(ripc_notify(service, &handles[0], 42, soon()), 0);
    demand_result(ripc_notify(service, &handles[1], 43, soon()), 0);
    demand_result(sst_wait(table, parent_has_put, NULL, &step, 1, soon()), 0);
    demand_result(ripc_send(service, 555, "all", 4, soon()), 0);
    demand_result(ripc_read(service, &grant, 0, word, sizeof word, soon()), 0);
    for (int i = 0; i < ROUNDS; i++)
        ping(service, PARENT_ID, "from the peer");
    for (int i = 0; i < ROUNDS; i++)
        demand(echo(service));
    for (int64_t until = soon(); !__atomic_load_n(&delivered, __ATOMIC_ACQUIRE);)
        demand(ripc_now() < until);
    ping(service, PARENT_ID, "stop");
    demand_result(sst_multicast_close(multicast, soon()), 0);
    demand_result(sst_close(table, soon()), 0);
    demand_result(ripc_close(ripc, soon()), 0);
    demand(waitpid(parent, &status, 0) == parent && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- a child with a context of its own ---- */

static void story_own(const struct story *story)
{
    int status;
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PARENT_ID);
    fork_role = "parent";
    for (int generation = 0; generation < 3; generation++) {
        pid_t pid = fork();
        if (pid > 0) {
            while (echo(service))
                ;
            demand(waitpid(pid, &status, 0) == pid);
            demand(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            demand_result(ripc_close(ripc, soon()), 0);
            if (generation)
                exit(0);
            return;
        }
        demand(pid == 0);
        /* The child does for its own child what its parent does for it. */
        fork_role = "child";
        ripc_id above = ripc_service_id(service);
        demand_result(ripc_send(service, above, "x", 1, RIPC_NOW), -ECHILD);
        struct ripc *own = fork_open(story->way);
        struct ripc_service *speaker = fork_bind(own, above + 1);
        demand_result(ripc_send(service, above, "x", 1, RIPC_NOW), -ECHILD);
        for (int i = 0; i < ROUNDS; i++)
            ping(speaker, above, "from the child");
        ping(speaker, above, "stop");
        demand_result(ripc_close(ripc, RIPC_NOW), -ECHILD);
        ripc = own;
        service = speaker;
    }
    demand_result(ripc_close(ripc, soon()), 0);
    exit(0);
}

/* ---- callbacks that fork ---- */

static pid_t callback_child; /* atomic: written once by a callback */

/* Forks, and returns in both processes. The library's thread must end in the child. */
static void callback_fork(void)
{
    pid_t pid = fork();
    demand(pid >= 0);
    if (pid > 0)
        __atomic_store_n(&callback_child, pid, __ATOMIC_RELEASE);
}

static void notice_forks(void *argument, uint64_t count, uint64_t value)
{
    (void)argument, (void)count, (void)value;
    callback_fork();
}

static void trigger_forks(struct sst *table, void *argument)
{
    (void)table, (void)argument;
    callback_fork();
}

static bool first_step(const struct sst *table, void *argument)
{
    (void)argument;
    return sst_maximum_u64(table, 0) == 1;
}

static void callback_await(void)
{
    int status;
    pid_t pid;
    for (int64_t until = soon(); !(pid = __atomic_load_n(&callback_child, __ATOMIC_ACQUIRE));)
        demand(ripc_now() < until);
    demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    __atomic_store_n(&callback_child, 0, __ATOMIC_RELAXED);
}

static void story_callback(const struct story *story)
{
    static const uint32_t step = 0;
    static const struct sst_predicate predicate = {.kind = SST_ONCE,
                                                   .holds = first_step,
                                                   .fire = trigger_forks,
                                                   .columns = &step,
                                                   .column_count = 1};
    struct sst_config config = {
        .table = 7, .columns = columns, .column_count = 1, .row_size = sizeof(struct row)};
    struct ripc_notice *notice;
    struct ripc_handle handle;
    struct sst *table;
    struct ripc *ripc = fork_open(story->way), *other = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PARENT_ID), *peer = fork_bind(other, PEER_ID);
    demand_result(ripc_notice_open(ripc, notice_forks, NULL, &notice, &handle), 0);
    demand_result(sst_open(ripc, &config, &table), 0);
    demand_result(sst_predicate_add(table, &predicate, NULL), 0);
    for (int i = 0; i < 3; i++) {
        demand_result(ripc_notify(peer, &handle, 1, soon()), 0);
        callback_await();
    }
    demand_result(sst_set_u64(table, 0, 1), 0);
    callback_await();
    demand_result(ripc_send(peer, PARENT_ID, "still here", 11, soon()), 0);
    demand(echo(service));
    demand_result(sst_set_u64(table, 0, 2), 0);
    demand_result(sst_close(table, soon()), 0);
    demand_result(ripc_notice_close(notice), 0);
    demand_result(ripc_close(other, soon()), 0);
    demand_result(ripc_close(ripc, soon()), 0);
}

/* ---- descriptors ---- */

/* Does the child have a descriptor of the library? The folder of the domain and the files that the
 * library only reads for a moment count, too. */
static bool descriptor_is_kept(int fd, const char *folder)
{
    char path[64], target[512] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) < 0)
        return false;
    bool kept = !strncmp(target, "socket:", 7) || !strncmp(target, "anon_inode:", 11) ||
                !strncmp(target, "/memfd:", 7) || !strncmp(target, "/proc/", 6) ||
                !strncmp(target, folder, strlen(folder));
    if (kept)
        fprintf(stderr, "# child: descriptor %d is %s\n", fd, target);
    return kept;
}

static void *open_and_close(void *argument)
{
    const struct story *story = argument;
    for (;;) {
        struct ripc *ripc = fork_open(story->way);
        struct ripc *other = fork_open(story->way);
        struct ripc_service *service = fork_bind(ripc, PARENT_ID);
        struct ripc_service *speaker = fork_bind(other, PEER_ID);
        demand_result(ripc_send(speaker, PARENT_ID, "x", 1, soon()), 0);
        if (!strcmp(story->way->names, "host")) /* the others wait for answers */
            for (unsigned i = 0; i < LISTINGS; i++)
                demand(ripc_list(ripc, on_name, NULL) >= 2);
        demand_result(ripc_unbind(service), 0);
        demand_result(ripc_close(other, soon()), 0);
        demand_result(ripc_close(ripc, RIPC_NOW), 0);
    }
}

#ifdef __SANITIZE_THREAD__
/* A process of fork_often may end after the keeper of a context has ended and before its other
 * thread has joined it. This is no leak. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

/* Forks while another thread opens and closes contexts. */
static _Noreturn void fork_often(const struct story *story)
{
    static bool before[DESCRIPTORS];
    pthread_t thread;
    const char *folder = getenv("WEFT_FOLDER");
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    demand(pthread_create(&thread, NULL, open_and_close, (void *)story) == 0);
    for (int i = 0; i < FORKS; i++) {
        int status;
        usleep(500 + 37 * (unsigned)i); /* another moment of the other thread's work each time */
        pid_t pid = fork();
        if (pid == 0) {
            for (int fd = 0; fd < DESCRIPTORS; fd++)
                if (!before[fd] && descriptor_is_kept(fd, folder))
                    _exit(fd);
            _exit(0);
        }
        demand(waitpid(pid, &status, 0) == pid);
        demand_result(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    }
    _exit(0);
}

static void story_descriptors(const struct story *story)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        fork_often(story);
    demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* libfabric opens and closes its connections by itself. What other processes could see of them must
 * not be open in a child. */
static void story_connections(const struct story *story)
{
    struct ripc *ripc = fork_open(story->way), *other = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PARENT_ID), *peer = fork_bind(other, PEER_ID);
    struct ripc_message message;
    demand_result(ripc_send(peer, PARENT_ID, "hello", 6, soon()), 0);
    demand(echo(service));
    demand_result(ripc_receive(peer, &message, 1, soon()), 1);
    ripc_release(&message);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 0; fd < DESCRIPTORS; fd++) {
            int domain = 0;
            socklen_t size = sizeof domain;
            if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET)
                _exit(fd);
        }
        _exit(0);
    }
    demand(waitpid(pid, &status, 0) == pid);
    demand_result(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    demand_result(ripc_send(peer, PARENT_ID, "again", 6, soon()), 0);
    demand(echo(service));
    demand_result(ripc_receive(peer, &message, 1, soon()), 1);
    ripc_release(&message);
    demand_result(ripc_close(other, soon()), 0);
    demand_result(ripc_close(ripc, soon()), 0);
}

static const struct story stories[] = {
    {"a child's calls change nothing", USE_EXIT, &ways[0], story_use, false},
    {"a child's calls change nothing", USE_EXIT, &ways[2], story_use, false},
    {"calls of a child that is killed change nothing", USE_KILLED, &ways[0], story_use, false},
    {"calls of a child of the clone call change nothing", USE_CLONE, &ways[0], story_use, false},
    {"calls of a child with its own context change nothing", USE_OWN, &ways[0], story_use, true},
    {"a child's own context talks with the parent", 0, &ways[0], story_own, true},
    {"a child's own context talks with the parent", 0, &ways[1], story_own, true},
    {"a child's own context talks with the parent", 0, &ways[2], story_own, true},
    {"a child's own context talks with the parent", 0, &ways[3], story_own, true},
    {"a child that returns from a callback ends", 0, &ways[0], story_callback, false},
    {"a child has no descriptor of the library", 0, &ways[0], story_descriptors, false},
    {"a child has no descriptor of the library", 0, &ways[1], story_descriptors, false},
    {"a child has no descriptor of the library", 0, &ways[3], story_descriptors, false},
    {"a child has no connection of libfabric", 0, &ways[2], story_connections, false},
};

int main(int count, char **words)
{
    return stories_run(stories, sizeof stories / sizeof *stories, count > 1 ? words[1] : NULL);
}
