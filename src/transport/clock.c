#include "transport/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/check.h"

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

nsec clock_suspended(void)
{
    nsec since_boot = clock_read(CLOCK_BOOTTIME);
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
