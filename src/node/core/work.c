/* work: the functions of weft/work.h.
 *
 * The node checks a call, copies it into one of the operations that the service has, and gives it
 * to the world (base/env.h), which runs the function beside the node. */

#include <weft/work.h>

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "node/configuration/configuration.h"
#include "node/core/node_impl.h"

#define CHILD_TIME_NSEC (60 * 1000000000LL) /* if the service states none */

/* A call under way. Its function runs on another thread, gets a pointer to const, and reads only
 * the flag. */
struct weft_work {
    struct work_operation operation;
    struct weft_self *self;
    int64_t (*run)(const struct weft_work *work, void *argument);
    void *argument;
    struct weft_call *call; /* NULL: this one is free ... */
    struct weft_work *next; /* ... and this is the next free one */
};

struct service_work {
    struct weft_work *calls;
    struct weft_work *free;
    uint32_t count; /* of calls that may be under way */
};

enum err work_add(struct weft_self *self, struct why *why)
{
    struct arena *arena = &self->node->arena;
    union parameter_value most;
    enum err err = configuration_read(self->node->config.configuration, self->service,
                                      &parameter_work, &most, why);
    if (err)
        return err;
    struct service_work *work = arena_take(arena, sizeof *work);
    if (!work)
        return why_memory(why);
    work->count = self->service->work < most.number ? self->service->work : (uint32_t)most.number;
    work->calls = arena_take_array(arena, work->count, sizeof *work->calls);
    if (!work->calls)
        return why_memory(why);
    for (uint32_t i = work->count; i-- > 0;) {
        work->calls[i].self = self;
        work->calls[i].next = work->free;
        work->free = &work->calls[i];
    }
    self->work = work;
    return OK;
}

void work_end(struct node *node)
{
    if (node->env->ops->work_end)
        node->env->ops->work_end(node->env);
}

/* ---- calls ---- */

static int mistake(struct weft_self *self, const char *function, const char *text)
{
    service_mistake(self, function, text);
    return -EINVAL;
}

/* NULL: the call is not under way. The service may have left any value in `reserved`, so the value
 * is checked before it is used. */
static struct weft_work *call_find(const struct service_work *work, const struct weft_call *call)
{
    uintptr_t offset = (uintptr_t)call->reserved[0] - (uintptr_t)work->calls;
    size_t index = offset / sizeof *work->calls;
    bool good = index < work->count && offset % sizeof *work->calls == 0;
    return good && work->calls[index].call == call ? &work->calls[index] : NULL;
}

static int64_t function_run(struct work_operation *operation)
{
    const struct weft_work *under_way = container_of(operation, struct weft_work, operation);
    return under_way->run(under_way, under_way->argument);
}

static void call_done(struct work_operation *operation)
{
    struct weft_work *under_way = container_of(operation, struct weft_work, operation);
    struct weft_self *self = under_way->self;
    struct weft_call *call = under_way->call;
    struct service_work *work = self->work;
    assert(call && !self->node->stopping);
    self->work_calls++;
    self->work_failed += operation->result < 0;
    under_way->call = NULL;
    under_way->next = work->free;
    work->free = under_way;
    self->work_under_way--;
    self->children_under_way -= operation->child != NULL;
    call->result = operation->result;
    links_glance(self->node);
    callback_begin(self, CALLBACK_DONE);
    call->done(self, call);
    callback_end(self);
}

/* Checks what both kinds of calls have in common. */
static int call_check(struct weft_self *self, const struct weft_call *call, const char *function)
{
    if (self->node->stopping)
        return -ESHUTDOWN;
    if (!self->work || !self->node->env->ops->work)
        return -ENODEV;
    if (!call || !call->done)
        return mistake(self, function, "the call has no done()");
    if (call_find(self->work, call))
        return mistake(self, function, "the call is under way already");
    return self->work->free ? 0 : -EAGAIN;
}

/* Takes a free operation and begins it. The caller has checked everything. */
static int call_begin(struct weft_self *self, struct weft_call *call,
                      const struct weft_work *wanted)
{
    struct weft_work *under_way = self->work->free;
    self->work->free = under_way->next;
    self->work_under_way++;
    self->children_under_way += wanted->operation.child != NULL;
    under_way->call = call;
    under_way->run = wanted->run;
    under_way->argument = wanted->argument;
    under_way->operation = wanted->operation;
    under_way->operation.service = self->service->name;
    under_way->operation.done = call_done;
    call->reserved[0] = under_way;
    self->node->env->ops->work(self->node->env, &under_way->operation);
    return 0;
}

int weft_work_run(struct weft_self *self, struct weft_call *call,
                  int64_t (*run)(const struct weft_work *work, void *argument), void *argument,
                  int64_t takes)
{
    static const char function[] = "weft_work_run";
    int result = call_check(self, call, function);
    if (result)
        return result;
    if (!run)
        return mistake(self, function, "there is no function to run");
    if (takes < 0)
        return mistake(self, function, "the time that it takes is negative");
    const struct weft_work wanted = {
        .operation = {.run = function_run, .takes = takes}, .run = run, .argument = argument};
    return call_begin(self, call, &wanted);
}

/* ---- child processes ---- */

static const char *words_wrong(const char *const *words)
{
    size_t bytes = 0, count = 0;
    if (!words || !words[0])
        return "there is no program";
    if (words[0][0] != '/')
        return "the program is not an absolute path";
    for (; count <= WEFT_CHILD_WORDS && words[count]; count++)
        bytes += strnlen(words[count], WEFT_CHILD_TEXT) + 1;
    return count > WEFT_CHILD_WORDS || bytes > WEFT_CHILD_TEXT ? "there are too many words" : NULL;
}

/* What is wrong with a child; NULL: nothing. */
static const char *child_wrong(const struct weft_child *child)
{
    if (!child)
        return "there is no child";
    if ((!child->input && child->input_size) || (!child->output && child->output_room))
        return "there is no memory for the input or the output";
    if (child->input_size > WEFT_CHILD_INPUT)
        return "the input is too large";
    if (child->processor < 0 || child->time < 0 || child->takes < 0)
        return "a time is negative";
    return words_wrong(child->words);
}

/* Only a simulated world runs this. */
static int64_t child_run(struct work_operation *operation)
{
    struct weft_child *child = operation->child;
    int64_t result = child->simulated(child);
    if (child->output_size <= child->output_room)
        return result;
    child->output_size = child->output_room;
    return -EMSGSIZE;
}

int weft_work_child(struct weft_self *self, struct weft_call *call, struct weft_child *child)
{
    static const char function[] = "weft_work_child";
    int result = self->service->children ? call_check(self, call, function) : -ENODEV;
    if (result)
        return result;
    const char *wrong = child_wrong(child);
    if (wrong)
        return mistake(self, function, wrong);
    if (self->node->env->ops->simulates && !child->simulated) {
        service_mistake(self, function, "the simulator runs no programs, and `simulated` is NULL");
        return -ENOSYS;
    }
    if (self->children_under_way >= self->service->children)
        return -EAGAIN;
    child->output_size = 0;
    child->signal = 0;
    const struct weft_work wanted = {
        .operation = {.run = child_run,
                      .child = child,
                      .takes = child->takes,
                      .limit = child->time ? child->time : CHILD_TIME_NSEC},
    };
    return call_begin(self, call, &wanted);
}

bool weft_work_is_cancelled(const struct weft_work *under_way)
{
    return atomic_load_explicit(&under_way->operation.cancelled, memory_order_relaxed);
}

int weft_work_cancel(struct weft_self *self, struct weft_call *call)
{
    if (!call)
        return mistake(self, "weft_work_cancel", "there is no call");
    struct weft_work *under_way = self->work ? call_find(self->work, call) : NULL;
    if (!under_way)
        return -ENOENT;
    atomic_store_explicit(&under_way->operation.cancelled, true, memory_order_relaxed);
    if (self->node->env->ops->work_cancel)
        self->node->env->ops->work_cancel(self->node->env, &under_way->operation);
    return 0;
}
