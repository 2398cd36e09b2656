/* host_slow: for how long a function of a service ran.
 *
 * The processor's counter shows how much time passed, also while the system let other processes run
 * on this processor. To tell the two apart, the host looks from time to time at what its thread has
 * used: for how long it ran, and for how long it could have run but another process did (its
 * delay). So a system call is made at most once in a while, and when a call seems to have taken
 * long.
 *
 * Between the last look and the long call the thread did other things, too: it slept, waited in the
 * kernel, was delayed, computed. So how much of the call is due to the service has two lower
 * bounds, and the greater one counts:
 *
 * - the time that passed, without all delays since the last look. What is left was computed, or the
 *   function waited for something;
 * - the processor time since the last look, without all time that the thread was awake outside of
 *   the call. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "os/host/host_impl.h"

#define LOOK_NSEC  (1000 * 1000LL) /* between two looks */
#define LINE_BYTES 80

static nsec thread_time(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* The kernel's count: time on the processor, time waiting for it, times run (0: it does not
 * count). */
static bool delay_read(int file, nsec *delay)
{
    char line[LINE_BYTES];
    unsigned long long ran, delayed, times = 0;
    ssize_t size = file < 0 ? -1 : pread(file, line, sizeof line - 1, 0);
    if (size <= 0)
        return false;
    line[size] = '\0';
    if (sscanf(line, "%llu %llu %llu", &ran, &delayed, &times) != 3 || !times)
        return false;
    *delay = (nsec)delayed;
    return true;
}

/* Without the kernel's count, each moment in which the thread does not run could be a delay. */
static struct host_usage usage_now(const struct host *host)
{
    struct host_usage usage = {.processor = thread_time()};
    if (!delay_read(host->delays, &usage.delay))
        usage.delay = clock_now() - usage.processor;
    return usage;
}

static void usage_set(struct host *host, struct host_usage usage, nsec now)
{
    host->usage = usage;
    host->looked_at = now;
    host->woke_at = now;
    host->awake = 0;
}

void host_usage_begin(struct host *host)
{
    pid_t thread = gettid();
    if (host->thread == thread)
        return;
    host_usage_end(host);
    host->thread = thread;
    host->delays = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    usage_set(host, usage_now(host), clock_now());
}

void host_usage_end(struct host *host)
{
    if (host->thread && host->delays >= 0)
        close(host->delays);
    host->thread = 0;
}

void host_usage_look(struct host *host)
{
    if (host->now - host->looked_at >= LOOK_NSEC)
        usage_set(host, usage_now(host), host->now);
}

void host_usage_rest(struct host *host)
{
    host_usage_look(host);
    host->awake += host->now - host->woke_at;
    host->woke_at = host->now;
    host->asleep = true;
}

nsec host_ran(struct host *host, uint64_t ticks)
{
    nsec passed = (nsec)((double)ticks / (double)clock_ticks(NSEC_PER_SEC) * 1e9);
    nsec now = clock_now();
    struct host_usage before = host->usage, after = usage_now(host);
    nsec awake = host->awake + (now - host->woke_at) - passed;
    nsec kept = passed - (after.delay - before.delay);
    nsec computed = after.processor - before.processor - (awake > 0 ? awake : 0);
    nsec ran = kept > computed ? kept : computed < passed ? computed : passed;
    usage_set(host, after, now); /* the next call is judged from here */
    return ran < NODE_SLOW_NSEC ? 0 : ran;
}
