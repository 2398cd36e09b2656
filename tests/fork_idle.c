/* A process forks a child that never uses the library, and is killed. The child lives on. Other
 * processes must notice the death at once, as if there were no child: a watcher is told, a send
 * fails, and the id is free.
 *
 *   fork_idle_test [WORD]     only the stories whose name contains the word */
#include <spawn.h>

#include <weft/sst.h>

#include "fork.h"

extern char **environ;

enum kind {
    IDLE,    /* fork, and nothing else */
    DOUBLE,  /* fork twice; the first child ends, as daemons do */
    EXECUTE, /* fork and execute another program */
    SPAWN,   /* posix_spawn, which runs no fork handlers */
};

static const struct way ways[] = {
    {"host names, shared memory", "host", "shm", NULL},
    {"host names, udp", "host", "udp", "127.0.0.1"},
    {"host names, fabric", "host", "fabric", "127.0.0.1"},
    {"multicast names, shared memory", "multicast", "shm", NULL},
    {"multicast names, udp", "multicast", "udp", "127.0.0.1"},
    {"multicast names, fabric", "multicast", "fabric", "127.0.0.1"},
    {"names in a file, udp", "file", "udp", "127.0.0.1"},
    {"names in a file, fabric", "file", "fabric", "127.0.0.1"},
    {"directory names, through nodes", "directory", "routed", NULL},
};

static _Noreturn void child_idle(int ready)
{
    alarm(STORY_LIMIT);
    tell(ready);
    for (;;)
        pause();
}

/* Makes the child, and returns its number once it has nothing more to do. */
static pid_t child_make(enum kind kind)
{
    int ready[2];
    pid_t pid = -1;
    char *words[] = {(char *)"sleep", (char *)"100", NULL};
    demand(pipe2(ready, O_CLOEXEC) == 0);
    if (kind == SPAWN) {
        demand(posix_spawn(&pid, "/bin/sleep", NULL, NULL, words, environ) == 0);
        return pid;
    }
    int number[2];
    demand(pipe2(number, O_CLOEXEC) == 0);
    pid = fork();
    demand(pid >= 0);
    if (pid == 0 && kind == DOUBLE) {
        pid = fork();
        demand(pid >= 0 && write(number[1], &pid, sizeof pid) == sizeof pid);
        if (pid > 0)
            _exit(0);
    }
    if (pid == 0 && kind == EXECUTE) {
        alarm(STORY_LIMIT);
        execv("/bin/sleep", words);
        _exit(3);
    }
    if (pid == 0)
        child_idle(ready[1]);
    if (kind == DOUBLE) {
        demand(waitpid(pid, NULL, 0) == pid);
        do
            demand(read(number[0], &pid, sizeof pid) == sizeof pid);
        while (pid == 0); /* the grandchild's own copy */
    }
    close(ready[1]);
    told(ready[0]); /* a byte, or the end when the program is executed */
    return pid;
}

/* ---- messages ---- */

static _Noreturn void parent_serve(const struct story *story, int report)
{
    fork_role = "parent";
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PARENT_ID);
    while (echo(service)) /* the child gets open connections, too */
        ;
    pid_t child = child_make((enum kind)story->kind);
    demand(write(report, &child, sizeof child) == sizeof child);
    for (;;)
        echo(service);
}

/* Waits for an event about the parent. */
static void await(struct ripc_service *service, enum ripc_event_kind kind)
{
    struct ripc_event event;
    do {
        int result = ripc_poll(service, &event, 1, soon());
        if (result != 1)
            fprintf(stderr, "# no event of kind %d\n", (int)kind);
        demand_result(result, 1);
    } while (event.kind != kind || event.id != PARENT_ID);
}

static void story_messages(const struct story *story)
{
    int report[2], result;
    pid_t child;
    demand(pipe2(report, O_CLOEXEC) == 0);
    fork_names_make(story->way);
    pid_t parent = fork();
    if (parent == 0)
        parent_serve(story, report[1]);
    close(report[1]);
    struct ripc *ripc = fork_open(story->way);
    struct ripc_service *service = fork_bind(ripc, PEER_ID);
    demand_result(ripc_watch(service, PARENT_ID), 0);
    await(service, RIPC_UP);
    ping(service, PARENT_ID, "hello");
    ping(service, PARENT_ID, "stop");
    demand(read(report[0], &child, sizeof child) == sizeof child);
    ping(service, PARENT_ID, "with a child");

    demand(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
    await(service, RIPC_DOWN);
    int64_t until = soon();
    do /* after RIPC_DOWN the pipe may stay open for a moment */
        result = ripc_send(service, PARENT_ID, "lost", 5, ripc_after(5 * SECOND));
    while (result == 0 && ripc_now() < until);
    if (result != -EPIPE) /* a file still has the address */
        demand_result(result, fork_port ? -ECONNREFUSED : -ENOENT);
    struct ripc_service *heir = fork_bind(ripc, PARENT_ID);
    demand(kill(child, 0) == 0 && waitpid(child, NULL, WNOHANG) == 0); /* it still runs */

    demand_result(ripc_unbind(heir), 0);
    demand_result(ripc_close(ripc, soon()), 0);
    if (fork_port) { /* another process can listen at the port of the parent */
        fork_role = "parent";
        demand_result(ripc_close(fork_open(story->way), soon()), 0);
    }
    fork_names_remove(story->way);
    demand(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* ---- a table ---- */

struct row {
    uint64_t step;
};

static const struct sst_column columns[] = {SST_COLUMN(struct row, step, SST_U64, SST_GROWS)};

static struct sst *member_open(struct ripc *ripc, ripc_id member, sst_upcall *upcall,
                               void *argument)
{
    struct sst *table = NULL;
    struct sst_config config = {
        .table = 7,
        .columns = columns,
        .column_count = 1,
        .row_size = sizeof(struct row),
        .member = member,
        .rows_wanted = 2,
        .upcall = upcall,
        .argument = argument,
        .deadline = soon(),
    };
    demand_result(sst_open(ripc, &config, &table), 0);
    return table;
}

static bool one_is_left(const struct sst *table, void *argument)
{
    (void)argument;
    return sst_live_count(table) == 1;
}

static bool has_stepped(const struct sst *table, void *argument)
{
    (void)argument;
    return sst_minimum_u64(table, 0) >= 1;
}

static void count_failure(struct sst *table, const struct sst_news *news, void *argument)
{
    (void)table;
    if (news->kind == SST_FAILED && news->member == PARENT_ID)
        __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELEASE);
}

static void story_table(const struct story *story)
{
    static const uint32_t step = 0;
    static int failures;
    int report[2];
    pid_t child;
    demand(pipe2(report, O_CLOEXEC) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        fork_role = "parent";
        struct sst *table = member_open(fork_open(story->way), PARENT_ID, NULL, NULL);
        demand_result(sst_set_u64(table, 0, 1), 0);
        child = child_make((enum kind)story->kind);
        demand(write(report[1], &child, sizeof child) == sizeof child);
        for (;;)
            pause();
    }
    close(report[1]);
    struct ripc *ripc = fork_open(story->way);
    struct sst *table = member_open(ripc, PEER_ID, count_failure, &failures);
    demand_result(sst_set_u64(table, 0, 1), 0);
    demand_result(sst_wait(table, has_stepped, NULL, &step, 1, soon()), 0);
    demand(read(report[0], &child, sizeof child) == sizeof child);

    demand(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
    demand_result(sst_wait(table, one_is_left, NULL, &step, 1, soon()), 0);
    for (int64_t until = soon(); !__atomic_load_n(&failures, __ATOMIC_ACQUIRE);)
        demand(ripc_now() < until);
    demand(kill(child, 0) == 0 && waitpid(child, NULL, WNOHANG) == 0); /* it still runs */

    demand_result(sst_close(table, soon()), 0);
    demand_result(ripc_close(ripc, soon()), 0);
    demand(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static const struct story stories[] = {
    {"an idle child keeps no name alive", IDLE, &ways[0], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[1], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[2], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[3], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[4], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[5], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[6], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[7], story_messages, false},
    {"an idle child keeps no name alive", IDLE, &ways[8], story_messages, false},
    {"an idle grandchild keeps no name alive", DOUBLE, &ways[0], story_messages, false},
    {"an idle grandchild keeps no name alive", DOUBLE, &ways[2], story_messages, false},
    {"an idle grandchild keeps no name alive", DOUBLE, &ways[4], story_messages, false},
    {"a child that executes a program keeps no name alive", EXECUTE, &ways[0], story_messages,
     false},
    {"a child that executes a program keeps no name alive", EXECUTE, &ways[2], story_messages,
     false},
    {"a spawned program keeps no name alive", SPAWN, &ways[0], story_messages, false},
    {"a spawned program keeps no name alive", SPAWN, &ways[2], story_messages, false},
    {"an idle child keeps no member of a table alive", IDLE, &ways[0], story_table, false},
    {"an idle child keeps no member of a table alive", IDLE, &ways[2], story_table, false},
    {"an idle child keeps no member of a table alive", IDLE, &ways[4], story_table, false},
    {"an idle child keeps no member of a table alive", IDLE, &ways[8], story_table, false},
};

int main(int count, char **words)
{
    return stories_run(stories, sizeof stories / sizeof *stories, count > 1 ? words[1] : NULL);
}
