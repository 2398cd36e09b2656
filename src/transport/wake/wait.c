#include "transport/wake/wait.h"

#include <sched.h>

/* Reading the clock costs as much as polling a ring two or three times. */
#define TURNS_PER_CLOCK_READ 16

void wait_start(struct wait *wait, nsec spin, nsec yield)
{
    *wait = (struct wait){.spin = spin, .yield = yield};
}

enum wait_advice wait_turn(struct wait *wait, nsec deadline)
{
    if (deadline <= 0)
        return WAIT_TIMEOUT;
    if (wait->spin >= 0 && ++wait->turns % TURNS_PER_CLOCK_READ) {
        cpu_relax();
        return WAIT_AGAIN;
    }
    nsec now = clock_now();
    if (!wait->since)
        wait->since = now;
    if (now >= deadline)
        return WAIT_TIMEOUT;
    nsec waited = now - wait->since;
    if (wait->spin >= 0) {
        if (waited < wait->spin)
            return WAIT_AGAIN;
        wait->spin = -1; /* from here on every turn reads the clock: yielding is slow anyway */
        wait->since = now;
        waited = 0;
    }
    if (wait->yield < 0 || waited >= wait->yield)
        return WAIT_BLOCK;
    sched_yield();
    return WAIT_AGAIN;
}
