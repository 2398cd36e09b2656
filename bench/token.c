/* token: the processes hand a word in shared memory back and forth along their chain; a process
 * yields while it is not its turn. Neighbours run on alternate processors. Of all variants that
 * pass through all processes in order (any processor, one for all, one for each half, wake-ups by
 * futex or descriptor) none was faster. */
#include "token.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define TOKEN_PROCESSES_MAX 16

/* Returns the process whose turn it is; the token goes up and down the chain. */
static unsigned token_owner(uint64_t token, unsigned processes)
{
    uint64_t step = token % (2 * (processes - 1));
    return (unsigned)(step < processes ? step : 2 * (processes - 1) - step);
}

static _Noreturn void token_run(_Atomic uint64_t *token, unsigned self, unsigned processes)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench_pin((int)(self % 2));
    for (;;) {
        uint64_t now = atomic_load_explicit(token, memory_order_acquire);
        if (token_owner(now, processes) == self)
            atomic_store_explicit(token, now + 1, memory_order_release);
        else
            sched_yield();
    }
}

double token_trip(unsigned processes, unsigned turns)
{
    static double times[TURNS_MAX];
    struct bench clock = {0};
    pid_t pids[TOKEN_PROCESSES_MAX] = {0};
    cpu_set_t before;
    /* Written with release by the process whose turn it is; read by all with acquire. */
    _Atomic uint64_t *token =
        mmap(NULL, sizeof *token, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (token == MAP_FAILED || processes > TOKEN_PROCESSES_MAX)
        bench_fail("no memory for a token");
    for (unsigned i = 1; i < processes; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            bench_fail("cannot fork");
        if (pids[i] == 0)
            token_run(token, i, processes);
    }
    sched_getaffinity(0, sizeof before, &before);
    bench_pin(0);
    for (unsigned turn = 0; turn < turns; turn++) {
        double begin = bench_seconds(&clock);
        uint64_t back = (turn + 1) * 2ULL * (processes - 1);
        atomic_fetch_add_explicit(token, 1, memory_order_acq_rel);
        while (atomic_load_explicit(token, memory_order_acquire) != back)
            sched_yield();
        times[turn] = (bench_seconds(&clock) - begin) * 1e6;
    }
    for (unsigned i = 1; i < processes; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    sched_setaffinity(0, sizeof before, &before);
    munmap(token, sizeof *token);
    return bench_median(times, (int)turns);
}
