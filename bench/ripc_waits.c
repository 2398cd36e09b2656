/* ripc_waits: single calls are timed by repetition in this process. Yielding to another process and
 * waking it need a second process: each is a side of measured/pair.h. */
#include "ripc_waits.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "measured/pair.h"
#include "transport/clock.h"

#define CALLS    100000
#define ROUNDS   5
#define RING_MAX 1000

/* In the memory of the pair. */
struct bell {
    _Atomic uint32_t word;     /* the number of the last ring; release, so that `rung` is visible */
    _Atomic uint32_t sleepers; /* set by the sleeper before it sleeps */
    _Atomic int64_t rung;      /* when; written by the ringer */
    _Atomic int64_t latency;   /* of the last ring; written by the sleeper */
};

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* --- single calls --- */

static _Atomic uint32_t unwatched;

static void spin_turn(void)
{
    (void)atomic_load_explicit(&unwatched, memory_order_acquire);
    cpu_relax();
}

static void look_at_clock(void)
{
    (void)clock_now();
}

static void yield_alone(void)
{
    sched_yield();
}

static void wake_none(void)
{
    futex(&unwatched, FUTEX_WAKE, 1);
}

static void call_time(struct bench *bench, const char *what, void (*call)(void))
{
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        nsec since = clock_now();
        for (int i = 0; i < CALLS; i++)
            call();
        times[round] = (double)(clock_now() - since) / CALLS;
    }
    bench_add(bench, what, "ns", &(struct bench_value){"cost", bench_median(times, ROUNDS)}, 1);
}

/* --- two processes on one core, yielding to each other --- */

static void yield_run(struct pair *pair)
{
    struct bell *bell = (struct bell *)pair->memory;
    uint64_t total = pair_total(pair);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        while (atomic_load_explicit(&bell->word, memory_order_acquire) % 2 != (uint32_t)pair->role)
            sched_yield();
        atomic_fetch_add_explicit(&bell->word, 1, memory_order_release);
        if (pair->role == 0 && (i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
}

/* --- a sleeper and a waker --- */

/* job->size is how many microseconds the sleeper sleeps before it is woken. */
static void ring_run(struct pair *pair, bool latency)
{
    struct bell *bell = (struct bell *)pair->memory;
    uint64_t total = pair_total(pair);
    double times[RING_MAX];
    nsec cost = 0;
    assert(total <= RING_MAX);
    pair_meet(pair);
    for (uint64_t i = 0; i < total; i++) {
        uint32_t ring = (uint32_t)i + 1;
        if (pair->role == 1) {
            atomic_store_explicit(&bell->sleepers, ring, memory_order_release);
            while (atomic_load_explicit(&bell->word, memory_order_acquire) != ring)
                futex(&bell->word, FUTEX_WAIT, ring - 1);
            nsec late = clock_now() - atomic_load_explicit(&bell->rung, memory_order_relaxed);
            atomic_store_explicit(&bell->latency, late, memory_order_relaxed);
        } else {
            while (atomic_load_explicit(&bell->sleepers, memory_order_acquire) != ring)
                cpu_relax();
            nsec until = clock_after((nsec)pair->job->size * 1000);
            while (clock_now() < until)
                cpu_relax();
            nsec since = clock_now();
            atomic_store_explicit(&bell->rung, since, memory_order_relaxed);
            atomic_store_explicit(&bell->word, ring, memory_order_release);
            futex(&bell->word, FUTEX_WAKE, 1);
            cost = clock_now() - since;
        }
        pair_meet(pair); /* `latency` belongs to this ring, and the next sleep starts fresh */
        times[i] =
            (double)(latency ? atomic_load_explicit(&bell->latency, memory_order_relaxed) : cost);
    }
    if (pair->role == 0)
        pair_report(pair, 1e-9 * bench_median(times, (int)total));
}

static void wake_cost_run(struct pair *pair)
{
    ring_run(pair, false);
}

static void wake_latency_run(struct pair *pair)
{
    ring_run(pair, true);
}

static const struct side side_yield = {"yield", yield_run};
static const struct side side_wake_cost = {"wake cost", wake_cost_run};
static const struct side side_wake_latency = {"wake latency", wake_latency_run};

static void pair_time(struct bench *bench, const char *what, const struct side *side,
                      const struct job *job)
{
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        struct pair_result result;
        struct why why = {""};
        if (pair_run(side, job, &result, &why))
            bench_fail("%s", why.text);
        times[round] = result.value * 1e9;
    }
    bench_add(bench, what, "ns", &(struct bench_value){"cost", bench_median(times, ROUNDS)}, 1);
}

void waits_run(struct bench *bench)
{
    static const struct job yields = {.kind = JOB_PING, .count = 1000, .batches = 20};
    static const struct {
        const char *sleep;
        struct job job;
    } sleeps[] = {
        {"20 us", {.kind = JOB_PING, .size = 20, .count = 200, .batches = 4}},
        {"1 ms", {.kind = JOB_PING, .size = 1000, .count = 50, .batches = 4}},
    };
    char what[BENCH_WHAT_SIZE];
    call_time(bench, "a look at memory and a pause", spin_turn);
    call_time(bench, "a look at the clock", look_at_clock);
    call_time(bench, "a yield, no other thread on the core", yield_alone);
    call_time(bench, "a wake, no sleeper", wake_none);
    pair_time(bench, "a yield to another on the core, and back", &side_yield, &yields);
    for (size_t i = 0; i < sizeof sleeps / sizeof sleeps[0]; i++) {
        snprintf(what, sizeof what, "a wake, for the waker, after %s of sleep", sleeps[i].sleep);
        pair_time(bench, what, &side_wake_cost, &sleeps[i].job);
        snprintf(what, sizeof what, "a wake, until the other runs, after %s of sleep",
                 sleeps[i].sleep);
        pair_time(bench, what, &side_wake_latency, &sleeps[i].job);
    }
}
