#pragma once
/* wait: patience that grows. A wait first polls (the answer is usually there
 * within a few microseconds), then yields the processor to whoever has work,
 * then asks its caller to block. The thresholds were measured by
 * bench/ripc --waits. */

#include <stdbool.h>

#include "transport/clock.h"

#define WAIT_SPIN_NSEC  (20 * 1000LL)
#define WAIT_YIELD_NSEC (50 * 1000LL)

struct wait {
    nsec spin;  /* how long to poll, and then ... */
    nsec yield; /* ... to yield */
    nsec since; /* when the wait began; 0 before the first look at the clock */
    unsigned turns;
};

enum wait_advice { WAIT_AGAIN, WAIT_BLOCK, WAIT_TIMEOUT };

/* Negative durations skip that stage. */
void wait_start(struct wait *wait, nsec spin, nsec yield);

/* Called after each look that found nothing; pauses or yields as it sees fit.
 * The clock is read every few turns only. */
enum wait_advice wait_turn(struct wait *wait, nsec deadline);
