/* Children of a program that uses the calls of 2013. A child begins anew: it does not use the
 * context of its parent, opens one of its own when it makes a call, and does not keep the parent's
 * ids when the parent is killed. */
#include "fork.h"

#include <weft/ripc_compat.h>

#define SERVICE 1 /* of the parent */
#define CLIENT  2 /* of its child */
#define OTHER   3 /* of another process */

static void say(uint16_t from, uint16_t to, const char *word)
{
    void *items[] = {(void *)word};
    uint32_t sizes[] = {(uint32_t)strlen(word) + 1};
    demand_result(ripc_send_short(from, to, items, sizes, 1, NULL, NULL, 0), 0);
}

static uint16_t hear(uint16_t service, const char *word)
{
    uint16_t from = 0, short_count = 0, long_count = 0;
    void **shorts = NULL, **longs = NULL;
    uint32_t *short_sizes = NULL, *long_sizes = NULL;
    demand_result(ripc_receive(service, &from, &shorts, &short_sizes, &short_count, &longs,
                               &long_sizes, &long_count),
                  0);
    demand(short_count == 1 && !strcmp(shorts[0], word));
    ripc_buf_free(shorts[0]);
    free(shorts);
    free(longs);
    return from;
}

/* The child cannot use the parent's buffer, nor one of its parent's parent. */
static void child_use_buffer(char *buffer)
{
    void *items[] = {buffer}, *inside[] = {buffer + 50}, *own[] = {ripc_buf_alloc(10)};
    uint32_t sizes[] = {100}, few[] = {10};
    demand_result(ripc_send_long(CLIENT, CLIENT, items, sizes, 1, NULL, NULL, 0), EFAULT);
    demand_result(ripc_send_long(CLIENT, CLIENT, inside, few, 1, NULL, NULL, 0), EFAULT);
    demand_result(ripc_buf_register(buffer, 100), 1);
    demand_result(ripc_buf_unregister(buffer), 0);
    demand_result(ripc_reg_recv_window(buffer, 100), EFAULT);
    demand_result(ripc_reg_recv_window_for_service(buffer, 100, CLIENT), EFAULT);
    demand(!ripc_buf_realloc(buffer, 200));
    /* The answer goes into a window, not into the return buffer. */
    demand_result(ripc_reg_recv_window(NULL, 100), 0);
    demand_result(ripc_send_short(CLIENT, CLIENT, own, few, 1, items, sizes, 1), 0);
    hear(CLIENT, "");
    demand_result(ripc_send_long(CLIENT, CLIENT, own, few, 1, NULL, NULL, 0), 0);
    uint16_t from, short_count, long_count;
    void **shorts, **longs;
    uint32_t *short_sizes, *long_sizes;
    demand_result(ripc_receive(CLIENT, &from, &shorts, &short_sizes, &short_count, &longs,
                               &long_sizes, &long_count),
                  0);
    demand(long_count == 1 && longs[0] != buffer);
    ripc_buf_free(longs[0]);
    free(longs);
    ripc_buf_free(own[0]);
    demand(!strcmp(buffer, "mine"));
}

/* The child of a child of the program that has the buffer. */
static void child_fork(char *buffer)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        fork_role = "grandchild";
        demand(!context.initialized && !context.services[CLIENT] && !context.remotes[SERVICE]);
        demand_result(ripc_register_service_id(OTHER), 1);
        void *items[] = {buffer};
        uint32_t sizes[] = {100};
        demand_result(ripc_send_long(OTHER, OTHER, items, sizes, 1, NULL, NULL, 0), EFAULT);
        exit(0);
    }
    demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The parent's buffer is not the child's, and the parent's ids are taken. */
static _Noreturn void child_begin_anew(char *buffer)
{
    fork_role = "child";
    demand(!context.initialized && !context.services[SERVICE] && !context.remotes[SERVICE]);
    demand_result(init(), 0);
    demand(context.initialized && !context.services[SERVICE] && !context.remotes[SERVICE]);
    ripc_buf_free(buffer);
    demand(!strcmp(buffer, "mine"));
    demand_result(ripc_register_service_id(SERVICE), 0);
    demand_result(ripc_register_service_id(CLIENT), 1);
    child_use_buffer(buffer);
    say(CLIENT, SERVICE, buffer + 10); /* short items are copied */
    demand(hear(CLIENT, "answer") == SERVICE);
    child_fork(buffer);
    exit(0); /* runs the exit handler of the library */
}

static void story_anew(const struct story *story)
{
    (void)story;
    int status;
    demand_result(ripc_register_service_id(SERVICE), 1);
    char *buffer = ripc_buf_alloc(100);
    demand(buffer);
    strcpy(buffer, "mine");
    strcpy(buffer + 10, "question");
    for (int i = 0; i < 3; i++) {
        say(SERVICE, SERVICE, "to myself");
        hear(SERVICE, "to myself");
        pid_t pid = fork();
        if (pid == 0)
            child_begin_anew(buffer);
        demand(hear(SERVICE, "question") == CLIENT);
        say(SERVICE, CLIENT, "answer");
        demand(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    demand(!strcmp(buffer, "mine"));
    exit(0); /* closes the context */
}

static _Noreturn void parent_leave_child(int report)
{
    fork_role = "parent";
    demand_result(ripc_register_service_id(SERVICE), 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(STORY_LIMIT);
        tell(report);
        for (;;)
            pause();
    }
    demand(hear(SERVICE, "hello") == OTHER);
    demand(write(report, &child, sizeof child) == sizeof child);
    for (;;)
        pause();
}

static void story_killed(const struct story *story)
{
    (void)story;
    int report[2];
    pid_t child, parent;
    demand(pipe2(report, O_CLOEXEC) == 0);
    parent = fork();
    if (parent == 0)
        parent_leave_child(report[1]);
    told(report[0]);
    demand_result(ripc_register_service_id(OTHER), 1);
    say(OTHER, SERVICE, "hello");
    demand(read(report[0], &child, sizeof child) == sizeof child);
    demand_result(ripc_register_service_id(SERVICE), 0);
    demand(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
    demand_result(ripc_register_service_id(SERVICE), 1);
    demand(kill(child, 0) == 0 && waitpid(child, NULL, WNOHANG) == 0); /* it still runs */
    demand(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    demand(ripc_clean(NULL) >= 0); /* what the parent left */
    exit(0);                       /* closes the context */
}

static const struct story stories[] = {
    {"a child of a program of 2013 begins anew", 0, NULL, story_anew, true},
    {"a child of a program of 2013 keeps no id alive", 0, NULL, story_killed, false},
};

int main(int count, char **words)
{
    return stories_run(stories, sizeof stories / sizeof *stories, count > 1 ? words[1] : NULL);
}
