#include "transport/wake/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/rseq.h>

#include "base/test.h"

struct report {
    bool blocks_signals;
    bool was_told; /* the kernel recorded its processor at each switch */
    bool is_told;  /* still, after thread_switch_lightly */
    int processor; /* from sched_getcpu */
};

static const volatile struct rseq *told(void)
{
    return (const struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static void *run(void *argument)
{
    struct report *report = argument;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    report->blocks_signals = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT);
    report->was_told = __rseq_size && (int)told()->cpu_id >= 0;
    thread_switch_lightly();
    thread_switch_lightly(); /* harmless */
    sched_yield();
    report->is_told = __rseq_size && (int)told()->cpu_id >= 0;
    report->processor = sched_getcpu();
    return NULL;
}

static void a_thread_blocks_signals_and_can_switch_lightly(void **state)
{
    struct thread thread = {0};
    struct report report = {0};
    assert_int_equal(thread_start(&thread, "test", run, &report), 0);
    thread_join(&thread);
    thread_join(&thread); /* harmless */
    assert_true(report.blocks_signals);
    if (!report.was_told)
        print_message("# this system does not record a thread's processor (no rseq)\n");
    assert_false(report.is_told);
    assert_true(report.processor >= 0);
}

TEST_MAIN(TEST(a_thread_blocks_signals_and_can_switch_lightly))
