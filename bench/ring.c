/* ring: the cost of a frame between two processes on two cores, compared with the floor of the
 * machine: the round trip of a bare cache line.
 *
 * Both processes poll. The echoing side copies the body that it received into its answer. Floor and
 * ring alternate. */
#include "transport/ring/ring.h"

#include <errno.h>
#include <sched.h>

#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS    9
#define BURST     32
#define SPINS_MAX (1u << 31) /* limit for waiting for a peer that is gone */

enum job { JOB_NONE, JOB_LINE, JOB_ECHO, JOB_SINK, JOB_END };

/* Shared by the two sides in addition to the rings. */
struct stage {
    alignas(128) _Atomic uint64_t there; /* the bare line: written by the parent, release */
    alignas(128) _Atomic uint64_t back;  /* ... and by the child */
    alignas(128) _Atomic uint64_t order; /* sequence << 8 | job; written by the parent, release */
    alignas(
        128) _Atomic uint64_t done; /* the sequence of the last order that the child has finished */
    uint64_t turns;                 /* of the job; made visible by `order` */
};

struct side {
    struct stage *stage;
    struct ring_sender sender;
    struct ring_receiver receiver;
};

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        bench_fail("this benchmark needs two processors");
}

static void spin(uint64_t *spins)
{
    if (++*spins > SPINS_MAX)
        bench_fail("the other side does not answer");
}

static void line_await(_Atomic uint64_t *line, uint64_t value)
{
    uint64_t spins = 0;
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        spin(&spins);
}

static void push(struct side *side, const void *data, size_t size)
{
    const struct frame_head head = {.kind = 1};
    const struct iovec piece = {.iov_base = (void *)data, .iov_len = size};
    uint64_t spins = 0;
    int result;
    while ((result = ring_push(&side->sender, &head, &piece, 1)) == -EAGAIN)
        spin(&spins);
    if (result)
        bench_fail("push: %s", strerror(-result));
}

static unsigned pull(struct side *side, struct frame *frames, unsigned max)
{
    bool credit;
    uint64_t spins = 0;
    int count;
    while (!(count = ring_pull(&side->receiver, frames, max, &credit)))
        spin(&spins);
    if (count < 0)
        bench_fail("pull: %s", strerror(-count));
    return (unsigned)count;
}

/* ---- the child ---- */

static void child_echo(struct side *side, uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++) {
        struct frame frame;
        pull(side, &frame, 1);
        push(side, frame.body, frame.size);
        ring_release(&side->receiver, &frame);
    }
}

static void child_sink(struct side *side, uint64_t turns)
{
    uint64_t expected = 0;
    while (expected < turns) {
        struct frame frames[BURST];
        unsigned count = pull(side, frames, BURST);
        for (unsigned i = 0; i < count; i++) {
            uint64_t number;
            memcpy(&number, frames[i].body, sizeof number);
            if (number != expected++)
                bench_fail("a frame arrived out of order");
            ring_release(&side->receiver, &frames[i]);
        }
    }
}

static _Noreturn void child_run(struct side *side)
{
    struct stage *stage = side->stage;
    for (uint64_t sequence = 1;; sequence++) {
        uint64_t order;
        while ((order = atomic_load_explicit(&stage->order, memory_order_acquire)) >> 8 != sequence)
            sched_yield();
        switch ((enum job)(order & 255)) {
        case JOB_LINE:
            for (uint64_t i = 1; i <= stage->turns; i++) {
                line_await(&stage->there, i);
                atomic_store_explicit(&stage->back, i, memory_order_release);
            }
            break;
        case JOB_ECHO:
            child_echo(side, stage->turns);
            break;
        case JOB_SINK:
            child_sink(side, stage->turns);
            break;
        case JOB_NONE:
        case JOB_END:
            _exit(0);
        }
        atomic_store_explicit(&stage->done, sequence, memory_order_release);
    }
}

/* ---- the parent ---- */

static uint64_t sequence;

static void order(struct side *side, enum job job, uint64_t turns)
{
    struct stage *stage = side->stage;
    stage->turns = turns;
    atomic_store_explicit(&stage->there, 0, memory_order_relaxed);
    atomic_store_explicit(&stage->back, 0, memory_order_relaxed);
    atomic_store_explicit(&stage->order, ++sequence << 8 | job, memory_order_release);
}

static void await_done(struct side *side)
{
    line_await(&side->stage->done, sequence);
}

static double time_line(struct bench *bench, struct side *side, uint64_t turns)
{
    order(side, JOB_LINE, turns);
    uint64_t warm_up = turns / 10;
    double started = 0;
    for (uint64_t i = 1; i <= turns; i++) {
        if (i == warm_up + 1)
            started = bench_seconds(bench);
        atomic_store_explicit(&side->stage->there, i, memory_order_release);
        line_await(&side->stage->back, i);
    }
    double took = bench_seconds(bench) - started;
    await_done(side);
    return took / (double)(turns - warm_up) * 1e9;
}

static double time_echo(struct bench *bench, struct side *side, size_t size, uint64_t turns)
{
    static uint8_t data[FRAME_BODY_MAX];
    order(side, JOB_ECHO, turns);
    uint64_t warm_up = turns / 10;
    double started = 0;
    for (uint64_t i = 0; i < turns; i++) {
        struct frame frame;
        if (i == warm_up)
            started = bench_seconds(bench);
        memcpy(data + size - sizeof i, &i, sizeof i);
        push(side, data, size);
        pull(side, &frame, 1);
        if (frame.size != size || memcmp(frame.body + size - sizeof i, &i, sizeof i) != 0)
            bench_fail("the echo differs from what was sent");
        ring_release(&side->receiver, &frame);
    }
    double took = bench_seconds(bench) - started;
    await_done(side);
    return took / (double)(turns - warm_up) * 1e9;
}

static double time_sink(struct bench *bench, struct side *side, size_t size, uint64_t turns)
{
    uint8_t data[FRAME_BODY_MAX] = {0};
    order(side, JOB_SINK, turns);
    double started = bench_seconds(bench);
    for (uint64_t i = 0; i < turns; i++) {
        memcpy(data, &i, sizeof i);
        push(side, data, size);
    }
    await_done(side);
    return (double)turns / (bench_seconds(bench) - started) * 1e-6;
}

static void measure_trips(struct bench *bench, struct side *side)
{
    static const size_t sizes[] = {8, 64, 256, 1500, 8900};
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint64_t turns = (bench->quick ? 20000 : 200000) / (sizes[k] > 1000 ? 4 : 1);
        double floors[ROUNDS];
        double trips[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            floors[round] = time_line(bench, side, turns);
            trips[round] = time_echo(bench, side, sizes[k], turns);
        }
        char what[BENCH_WHAT_SIZE];
        snprintf(what, sizeof what, "ring round trip %zu B polling", sizes[k]);
        double floor = bench_median(floors, ROUNDS);
        double trip = bench_median(trips, ROUNDS);
        const struct bench_value values[] = {
            {"weft", trip}, {"floor", floor}, {"ratio", trip / floor}};
        bench_add(bench, what, "ns", values, 3);
    }
}

static void measure_rates(struct bench *bench, struct side *side)
{
    static const size_t sizes[] = {8, 64, 1500};
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double rates[ROUNDS];
        for (int round = 0; round < ROUNDS; round++)
            rates[round] = time_sink(bench, side, sizes[k], bench->quick ? 200000 : 2000000);
        char what[BENCH_WHAT_SIZE];
        snprintf(what, sizeof what, "ring one way %zu B", sizes[k]);
        const struct bench_value values[] = {{"weft", bench_median(rates, ROUNDS)}};
        bench_add(bench, what, "M/s", values, 1);
    }
}

int main(int count, char **words)
{
    struct bench bench;
    bench_start(&bench, count, words);
    const struct ring_shape shape = ring_shape_make(0, 0);
    struct memfile files[3];
    const size_t sizes[3] = {sizeof(struct stage), ring_size(&shape), ring_size(&shape)};
    for (unsigned i = 0; i < 3; i++)
        if (memfile_open(&files[i], "weft-bench", sizes[i]))
            bench_fail("cannot allocate shared memory");
    pid_t child = fork();
    if (child < 0)
        bench_fail("cannot fork");
    struct side side = {.stage = files[0].base};
    if (ring_sender_init(&side.sender, files[child ? 1 : 2].base, &shape) ||
        ring_receiver_init(&side.receiver, files[child ? 2 : 1].base, &shape))
        bench_fail("not enough memory");
    pin(child ? 0 : 1);
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        child_run(&side);
    }
    measure_trips(&bench, &side);
    measure_rates(&bench, &side);
    order(&side, JOB_END, 0);
    waitpid(child, NULL, 0);
    ring_sender_fini(&side.sender);
    ring_receiver_fini(&side.receiver);
    for (unsigned i = 0; i < 3; i++)
        memfile_close(&files[i]);
    return bench_finish(&bench);
}
