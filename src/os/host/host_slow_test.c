/* host_slow: the test plays a service whose function computes, waits, or has no processor for a
 * while, because another process computes on the only one that it may use. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test.h"
#include "base/ticks.h"
#include "os/host/host_impl.h"
#include "transport/clock.h"

#define MSEC         (1000 * 1000LL)
#define PATIENCE     (20 * NSEC_PER_SEC)
#define AWAY_NSEC    (3 * MSEC)     /* of a function without a processor */
#define LITTLE_NSEC  (300 * 1000LL) /* that it may compute all the same */
#define PROCESSOR(t) ((t).tv_sec * NSEC_PER_SEC + (t).tv_nsec)

static nsec processor_time(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return PROCESSOR(time);
}

static void compute(nsec length)
{
    nsec end = processor_time() + length;
    while (processor_time() < end) {
    }
}

/* As in the loop: the host sleeps, and awakes. */
static void rest(struct host *host, nsec length)
{
    host->now = clock_now();
    host_usage_rest(host);
    clock_nap(length);
    host->now = host_awake(host);
}

/* Binds this process to one processor, and starts another process that computes there. */
static pid_t rival_start(cpu_set_t *before)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
    for (volatile unsigned turns = 0;; turns++) {
    }
}

static void rival_end(pid_t pid, const cpu_set_t *before)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sched_setaffinity(0, sizeof *before, before), 0);
}

/* Returns how long a function took that hardly computed, because the rival did. */
static uint64_t call_without_processor(void)
{
    for (nsec end = clock_after(PATIENCE);;) {
        nsec used = processor_time(), began = clock_now();
        uint64_t ticks = ticks_now();
        sched_yield();
        ticks = ticks_now() - ticks;
        if (clock_now() - began >= AWAY_NSEC && processor_time() - used < LITTLE_NSEC)
            return ticks;
        assert_true(clock_now() < end);
    }
}

/* Before the call the host waited in the kernel for a moment, as before each sleep. */
static void a_function_without_a_processor_is_not_slow(void **state)
{
    struct host host = {0};
    cpu_set_t before;
    host_usage_begin(&host);
    pid_t rival = rival_start(&before);
    for (unsigned i = 0; i < 20; i++) {
        rest(&host, 50 * 1000);
        clock_nap(10 * 1000);
        assert_int_equal(host_ran(&host, call_without_processor()), 0);
    }
    rival_end(rival, &before);
    host_usage_end(&host);
}

static nsec call(struct host *host, void (*function)(nsec length), nsec length)
{
    uint64_t ticks = ticks_now();
    function(length);
    return host_ran(host, ticks_now() - ticks);
}

static void a_function_that_waits_is_slow(void **state)
{
    struct host host = {0};
    host_usage_begin(&host);
    rest(&host, 50 * 1000);
    nsec most = 0; /* other processes may delay some of the calls */
    for (nsec end = clock_after(PATIENCE); most < 3 * MSEC && clock_now() < end;) {
        nsec ran = call(&host, clock_nap, 4 * MSEC);
        most = ran > most ? ran : most;
    }
    assert_true(most >= 3 * MSEC);
    host_usage_end(&host);
}

static void a_function_that_computes_is_slow(void **state)
{
    struct host host = {0};
    cpu_set_t before;
    host_usage_begin(&host);
    for (unsigned i = 0; i < 5; i++) {
        rest(&host, 50 * 1000);
        assert_true(call(&host, compute, 30 * MSEC) >= NODE_SLOW_NSEC);
    }
    pid_t rival = rival_start(&before);
    for (unsigned i = 0; i < 5; i++) {
        rest(&host, 50 * 1000);
        assert_true(call(&host, compute, 30 * MSEC) >= NODE_SLOW_NSEC);
    }
    rival_end(rival, &before);
    host_usage_end(&host);
}

/* Without it, a function that waits cannot be told from one without a processor. */
static void without_the_kernels_count_only_computing_is_slow(void **state)
{
    struct host host = {0};
    host_usage_begin(&host);
    if (host.delays >= 0)
        close(host.delays);
    host.delays = -1;
    assert_int_equal(host_ran(&host, 0), 0);
    rest(&host, 50 * 1000);
    assert_true(call(&host, compute, 30 * MSEC) >= NODE_SLOW_NSEC);
    rest(&host, 50 * 1000);
    assert_int_equal(call(&host, clock_nap, 4 * MSEC), 0);
    host_usage_end(&host);
}

TEST_MAIN(TEST(a_function_without_a_processor_is_not_slow), TEST(a_function_that_waits_is_slow),
          TEST(a_function_that_computes_is_slow),
          TEST(without_the_kernels_count_only_computing_is_slow))
