#pragma once
/* clock: time, random bytes, and the pause between two polls of memory. The layers above take all
 * three from here, so that a test can list which code uses them. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int64_t nsec; /* a point in time is on CLOCK_MONOTONIC */

#define NSEC_PER_SEC 1000000000LL
#define NSEC_NEVER   INT64_MAX
#define NSEC_FAR     (NSEC_NEVER - 1) /* for timers: set, but never due */

nsec clock_now(void);

/* Has that moment come? NSEC_NEVER never comes. */
static inline _Bool clock_is_past(nsec moment)
{
    return clock_now() >= moment;
}

/* Wall-clock time. Use it only for numbers that have to be higher than before a restart. */
nsec clock_wall(void);

/* As clock_now, but it goes on while the system is suspended; the two have nothing in common. */
nsec clock_boot(void);

/* How long the system has been suspended since it booted. CLOCK_MONOTONIC stands still meanwhile.
 */
nsec clock_suspended(void);

/* `delay` from now, or NSEC_NEVER where that would overflow. */
nsec clock_after(nsec delay);

/* Converts a duration or a point in time for system calls. */
static inline struct timespec clock_timespec(nsec time)
{
    return (struct timespec){.tv_sec = time / NSEC_PER_SEC, .tv_nsec = time % NSEC_PER_SEC};
}

void clock_nap(nsec length);

/* How many ticks (base/ticks.h) pass in that time. The first call measures it, for about two
 * milliseconds. */
uint64_t clock_ticks(nsec length);

/* Random bytes of the system. Asserts that the system supplies them. */
void entropy_fill(void *out, size_t size);
uint64_t entropy_u64(void); /* never 0 */

/* Tells the processor that this thread is polling. */
static inline void cpu_relax(void)
{
#if defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}
