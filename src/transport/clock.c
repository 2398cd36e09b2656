#include "transport/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

#include "base/check.h"
#include "base/ticks.h"

static nsec clock_read(clockid_t which)
{
    struct timespec now;
    int result = clock_gettime(which, &now);
    assert(result == 0);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

nsec clock_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

nsec clock_wall(void)
{
    return clock_read(CLOCK_REALTIME);
}

nsec clock_boot(void)
{
    return clock_read(CLOCK_BOOTTIME);
}

nsec clock_suspended(void)
{
    nsec since_boot = clock_boot();
    return since_boot - clock_now();
}

nsec clock_after(nsec delay)
{
    nsec moment;
    return __builtin_add_overflow(clock_now(), delay, &moment) ? NSEC_NEVER : moment;
}

void clock_nap(nsec length)
{
    struct timespec span = clock_timespec(length);
    nanosleep(&span, NULL);
}

#define TICKS_NSEC  (2 * 1000 * 1000LL) /* over which ticks are counted */
#define TICKS_TRIES 16

/* The time and the ticks of one moment. A thread that loses the processor between the two readings
 * tries again. */
static nsec moment_read(uint64_t *ticks)
{
    nsec best = NSEC_NEVER, at = 0;
    for (int i = 0; i < TICKS_TRIES; i++) {
        nsec before = clock_now();
        uint64_t now = ticks_now();
        nsec took = clock_now() - before;
        if (took >= best)
            continue;
        best = took;
        at = before;
        *ticks = now;
    }
    return at;
}

uint64_t clock_ticks(nsec length)
{
    /* In a second; 0: not measured. Any thread writes it, relaxed: all of them find about the same.
     */
    static _Atomic uint64_t rate;
    uint64_t found = atomic_load_explicit(&rate, memory_order_relaxed);
    if (!found) {
        uint64_t first = 0, last = 0;
        nsec began = moment_read(&first);
        clock_nap(TICKS_NSEC);
        nsec passed = moment_read(&last) - began;
        found = (uint64_t)((double)(last - first) / (double)passed * 1e9);
        atomic_store_explicit(&rate, found, memory_order_relaxed);
    }
    return (uint64_t)((double)length * (double)found / 1e9);
}

void entropy_fill(void *out, size_t size)
{
    uint8_t *next = out;
    while (size) {
        ssize_t got = getrandom(next, size, 0);
        assert(got > 0 || errno == EINTR);
        if (got > 0) {
            next += got;
            size -= (size_t)got;
        }
    }
}

uint64_t entropy_u64(void)
{
    uint64_t value;
    do
        entropy_fill(&value, sizeof value);
    while (!value);
    return value;
}
