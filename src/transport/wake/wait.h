#pragma once
/* wait: waits with growing patience. A wait first polls (the answer usually arrives within a few
 * microseconds), then yields the processor to threads that have work, then asks its caller to
 * block. The thresholds were measured by bench/ripc --waits. */

#include <stdbool.h>

#include "transport/clock.h"

#define WAIT_SPIN_NSEC  (20 * 1000LL)
#define WAIT_YIELD_NSEC (50 * 1000LL)

struct wait {
    nsec spin;  /* how long to poll, and then ... */
    nsec yield; /* ... how long to yield */
    nsec since; /* when the wait began; 0 before the clock was first read */
    unsigned turns;
};

enum wait_advice { WAIT_AGAIN, WAIT_BLOCK, WAIT_TIMEOUT };

/* A negative duration skips that stage. */
void wait_start(struct wait *wait, nsec spin, nsec yield);

/* Call it after each poll that found nothing; it pauses or yields, depending on the stage. It reads
 * the clock only every few turns. */
enum wait_advice wait_turn(struct wait *wait, nsec deadline);
