/* work_probe: a service that works as a program asks, on a thread or in its own functions. It uses
 * only the public headers. A request is a letter and a number:
 *
 *     wN  computes for N milliseconds on a thread, answers "done N"
 *     l   runs on a thread until it is cancelled, answers "cancelled"
 *     c   cancels all calls, answers nothing
 *     bN  computes for N milliseconds in request(), answers "back"
 *     sN  sleeps for N milliseconds in request(), answers "back"
 *     h   never returns from request()
 *     xC  runs the shell command C in a child process, answers its result and output
 *     yC  the same, but the child may take at most 300 ms */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/work.h>

#define CALLS 8

struct task {
    struct weft_call call;
    struct weft_child child;
    const char *words[4];
    char command[300], output[2000];
    bool used;
    uint64_t client, ticket;
    long length; /* milliseconds */
};

struct probe {
    struct task tasks[CALLS + 1]; /* one more than may be under way */
};

static void compute(long length)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < length);
}

static int64_t work(const struct weft_work *under_way, void *argument)
{
    struct task *task = argument;
    if (task->length) {
        compute(task->length);
        return task->length;
    }
    while (!weft_work_is_cancelled(under_way))
        usleep(1000);
    return 0;
}

static void answer(struct weft_self *self, uint64_t client, uint64_t ticket, const char *text)
{
    weft_answer(self, client, ticket, text, (uint32_t)strlen(text));
}

static void done(struct weft_self *self, struct weft_call *call)
{
    struct task *task = (struct task *)call;
    char text[40] = "cancelled";
    if (call->result)
        snprintf(text, sizeof text, "done %lld", (long long)call->result);
    task->used = false;
    answer(self, task->client, task->ticket, text);
}

static void child_done(struct weft_self *self, struct weft_call *call)
{
    struct task *task = (struct task *)call;
    char text[2100];
    snprintf(text, sizeof text, "%lld %.*s", (long long)call->result, (int)task->child.output_size,
             task->output);
    task->used = false;
    answer(self, task->client, task->ticket, text);
}

/* Stands for the program in the simulator: it echoes the command. */
static int64_t simulated(struct weft_child *child)
{
    child->output_size = (uint32_t)strlen(child->words[2]);
    memcpy(child->output, child->words[2], child->output_size);
    return 0;
}

static int child_begin(struct weft_self *self, struct task *task, const char *command, bool soon)
{
    snprintf(task->command, sizeof task->command, "%s", command);
    task->words[0] = "/bin/sh";
    task->words[1] = "-c";
    task->words[2] = task->command;
    task->child = (struct weft_child){
        .words = task->words,
        .output = task->output,
        .output_room = sizeof task->output,
        .time = soon ? 300000000 : 0,
        .simulated = simulated,
    };
    task->call.done = child_done;
    return weft_work_child(self, &task->call, &task->child);
}

static void begin(struct weft_self *self, uint64_t client, uint64_t ticket, const char *asked)
{
    struct probe *probe = weft_memory(self);
    struct task *task = probe->tasks;
    char text[40];
    while (task->used)
        task++;
    *task = (struct task){.client = client, .ticket = ticket, .length = atol(asked + 1)};
    task->call.done = done;
    int result = asked[0] == 'x' || asked[0] == 'y'
                     ? child_begin(self, task, asked + 1, asked[0] == 'y')
                     : weft_work_run(self, &task->call, work, task, 0);
    task->used = result == 0;
    snprintf(text, sizeof text, "refused %d", result);
    if (result)
        answer(self, client, ticket, text);
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct probe *probe = weft_memory(self);
    char text[300] = "";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    long length = atol(text + 1);
    volatile bool never = text[0] == 'h';
    while (never)
        continue;
    if (text[0] && strchr("wlxy", text[0])) {
        begin(self, client, ticket, text);
        return;
    }
    for (unsigned i = 0; text[0] == 'c' && i < CALLS; i++)
        if (probe->tasks[i].used)
            weft_work_cancel(self, &probe->tasks[i].call);
    if (text[0] == 'b')
        compute(length);
    if (text[0] == 's')
        usleep((useconds_t)length * 1000);
    if (text[0] != 'c')
        answer(self, client, ticket, "back");
}

static const struct weft_service_ops ops = {.request = request};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "probe",
    .id = 300,
    .size = sizeof(struct probe),
    .ops = &ops,
    .work = CALLS,
    .children = 2,
};
