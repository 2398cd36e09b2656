#pragma once
/* clock: time, entropy, and the pause between two looks at memory. The layers
 * above take all three from here, so that a test can list who asks for them. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int64_t nsec; /* of CLOCK_MONOTONIC where it is a moment */

#define NSEC_PER_SEC 1000000000LL
#define NSEC_NEVER   INT64_MAX
#define NSEC_FAR     (NSEC_NEVER - 1) /* of timers: set, and never due */

nsec clock_now(void);

/* Is it that late? NSEC_NEVER is never past. */
static inline _Bool clock_is_past(nsec moment)
{
    return clock_now() >= moment;
}

/* The wall's time: only for what must be newer than before a restart. */
nsec clock_wall(void);

/* `delay` from now, or NSEC_NEVER where that would overflow. */
nsec clock_after(nsec delay);

/* A length or a moment as the system wants it. */
static inline struct timespec clock_timespec(nsec time)
{
    return (struct timespec){.tv_sec = time / NSEC_PER_SEC, .tv_nsec = time % NSEC_PER_SEC};
}

/* Sleeps about that long. */
void clock_nap(nsec length);

/* Random bytes of the system; never fails on a running system (asserts). */
void entropy_fill(void *out, size_t size);
uint64_t entropy_u64(void); /* never 0 */

/* Tells the processor that we are polling. */
static inline void cpu_relax(void)
{
#if defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}
