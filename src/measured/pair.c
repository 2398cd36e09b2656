/* pair: all shared memory is mapped before the parent forks both roles. If one
 * role fails or hangs, the parent ends the other, too. */
#include "measured/pair.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "measured/crowd.h"
#include "measured/payload.h"
#include "measured/sample.h"
#include "process/child.h"
#include "transport/clock.h"

#define PAIR_LIMIT_NSEC (120 * NSEC_PER_SEC)
#define PAIR_EXIT_FAIL  1
#define PAIR_MEMORY_MIN (1 << 20)

/* Written by the roles, read by the parent after both have ended. */
struct pair_shared {
    double batches[PAIR_BATCH_MAX];
    uint32_t batch_count;
    double wall;   /* of the batches, by the role that measures time */
    double cpu[2]; /* processor time of each role for its messages */
    uint64_t lost, out_of_order;
    bool missing;
    char reason[PAIR_REASON_SIZE];
};

/* Binds role 0 to the first core that the process may use, role 1 to the last. */
static void pair_pin(int role)
{
    uint32_t cores = (uint32_t)crowd_cores();
    if (cores >= 2)
        crowd_pin(role ? cores - 1 : 0);
}

static double seconds_now(void)
{
    return (double)clock_now() * 1e-9;
}

static double seconds_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void pair_say(struct pair *pair, const char *format, va_list args)
{
    if (!pair->shared->reason[0])
        vsnprintf(pair->shared->reason, PAIR_REASON_SIZE, format, args);
}

void pair_fail(struct pair *pair, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pair_say(pair, format, args);
    va_end(args);
    _exit(PAIR_EXIT_FAIL);
}

void pair_missing(struct pair *pair, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pair_say(pair, format, args);
    va_end(args);
    pair->shared->missing = true;
    _exit(PAIR_EXIT_FAIL);
}

void pair_exchange(struct pair *pair, const void *mine, void *theirs, size_t size)
{
    if (write(pair->channel, mine, size) != (ssize_t)size)
        pair_fail(pair, "the other process ended");
    for (size_t done = 0; done < size;) {
        ssize_t step = read(pair->channel, (char *)theirs + done, size - done);
        if (step <= 0)
            pair_fail(pair, "the other process ended");
        done += (size_t)step;
    }
}

void pair_meet(struct pair *pair)
{
    char mine = 'm', theirs;
    pair_exchange(pair, &mine, &theirs, 1);
}

void pair_check(struct pair *pair, const void *data, size_t size, uint64_t number)
{
    if (size != pair->job->size)
        pair_fail(pair, "message %llu has %zu bytes instead of %zu", (unsigned long long)number,
                  size, pair->job->size);
    if (!payload_good(data, size, pair->sum, number))
        pair_fail(pair, "message %llu is damaged or out of order", (unsigned long long)number);
}

uint64_t pair_total(const struct pair *pair)
{
    return ((uint64_t)pair->job->batches + 1) * pair->job->count;
}

void pair_start(struct pair *pair)
{
    pair->batch_count = 0;
    pair->cpu_since = seconds_cpu();
    pair->since = seconds_now();
}

void pair_lap(struct pair *pair)
{
    struct pair_shared *shared = pair->shared;
    double now = seconds_now();
    if (pair->batch_count == 0) {
        pair->cpu_since = seconds_cpu();
        now = seconds_now();
    } else {
        assert(pair->batch_count <= PAIR_BATCH_MAX);
        shared->batches[pair->batch_count - 1] = (now - pair->since) / pair->job->count;
        shared->batch_count = pair->batch_count;
        shared->wall += now - pair->since;
    }
    if (pair->job->idle_usec) { /* both roles fall asleep before the next batch */
        usleep(pair->job->idle_usec);
        now = seconds_now();
    }
    pair->since = now;
    if (pair->batch_count++ == pair->job->batches)
        shared->cpu[pair->role] = seconds_cpu() - pair->cpu_since;
}

/* This role does not know when the warm-up ended, so the share of one batch is subtracted. */
void pair_stop(struct pair *pair)
{
    uint32_t batches = pair->job->batches;
    double all = seconds_cpu() - pair->cpu_since;
    pair->shared->cpu[pair->role] = all * batches / (batches + 1);
}

void pair_arrival(struct pair *pair, uint64_t number)
{
    pair->out_of_order += number != pair->expected;
    pair->expected = number + 1;
    pair->arrived++;
    if (++pair->in_batch < pair->job->count) /* a division would take as long as a receive */
        return;
    pair->in_batch = 0;
    pair_lap(pair);
}

void pair_arrivals_end(struct pair *pair)
{
    pair->shared->lost = pair_total(pair) - pair->arrived;
    pair->shared->out_of_order = pair->out_of_order;
}

void pair_report(struct pair *pair, double seconds)
{
    pair->shared->batches[0] = seconds;
    pair->shared->batch_count = 1;
}

/* The argument of the process of a role. */
struct role {
    const struct side *side;
    struct pair *pair;
    int other; /* the other role's end of the channel */
};

static void role_run(void *argument)
{
    const struct role *role = argument;
    struct pair *pair = role->pair;
    size_t size = pair->job->size;
    close(role->other); /* so that each role notices the end of the other */
    pair_pin(pair->role);
    pair->own = payload_memory(PAIR_DEPTH * size);
    if (!pair->own)
        pair_fail(pair, "not enough memory");
    for (int i = 0; i < PAIR_DEPTH && size >= PAYLOAD_MIN; i++)
        pair->sum = payload_make(pair->own + i * size, size);
    role->side->run(pair);
}

static bool roles_run(const struct side *side, struct pair *pair, const int channels[2])
{
    struct children roles = {0};
    bool done = true;
    for (int i = 0; i < 2 && done; i++) {
        pair->role = i;
        pair->channel = channels[i];
        done = children_add(&roles, role_run, &(struct role){side, pair, channels[!i]});
    }
    for (int i = 0; i < 2; i++)
        close(channels[i]);
    done = done && children_wait(&roles, clock_after(PAIR_LIMIT_NSEC));
    children_end(&roles);
    return done;
}

static void result_fill(struct pair_result *result, struct pair_shared *shared,
                        const struct job *job)
{
    uint32_t count = shared->batch_count;
    double messages = (double)job->count * job->batches;
    double cpu = shared->cpu[0] + shared->cpu[1];
    if (count > 0)
        result->value = sample_median(shared->batches, count);
    result->cpu = messages > 0 ? cpu / messages : 0;
    result->share = shared->wall > 0 ? 100 * cpu / (2 * shared->wall) : 0;
    result->wall = shared->wall;
    result->lost = shared->lost;
    result->out_of_order = shared->out_of_order;
    result->missing = shared->missing;
    memcpy(result->reason, shared->reason, sizeof result->reason);
}

enum err pair_run(const struct side *side, const struct job *job, struct pair_result *result,
                  struct why *why)
{
    struct child_folder folder;
    int channels[2] = {-1, -1};
    size_t size = PAIR_DEPTH * job->size + PAIR_MEMORY_MIN;
    struct pair pair = {.job = job, .folder = folder.path};
    enum err err = OK;
    assert(job->batches <= PAIR_BATCH_MAX && job->count > 0);
    *result = (struct pair_result){0};
    pair.shared = crowd_memory(sizeof *pair.shared);
    pair.memory = crowd_memory(size);
    if (!pair.shared || !pair.memory) {
        err = why_memory(why);
        goto unmap;
    }
    int error = child_folder_make(&folder);
    if (error < 0) {
        err = why_fail(why, ERR_SYSTEM, "cannot make a folder for the measurement: %s",
                       strerror(-error));
        goto unmap;
    }
    bool done = false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels) == 0)
        done = roles_run(side, &pair, channels);
    result_fill(result, pair.shared, job);
    if (!done && !result->missing)
        err = why_fail(why, ERR_SYSTEM, "%s: %s", side->name,
                       result->reason[0]
                           ? result->reason
                           : "a process ended without a reason, or the time limit was reached");
    child_folder_remove(&folder);
unmap:
    crowd_memory_free(pair.memory, size);
    crowd_memory_free(pair.shared, sizeof *pair.shared);
    return err;
}
