#pragma once
/* ticks: the processor's own counter, the cheapest clock there is: no system call, a few
 * nanoseconds. It counts at a constant rate that differs between machines; transport/clock.h
 * converts durations. Other processors than those below have none: ticks stand still there. */

#include <stdint.h>

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}
