#pragma once
/* timers: a heap of moments at which timers are due, in memory that the caller provides once. Equal
 * moments fire in the order in which they were set. Pure. */

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

struct timer {
    env_nsec at;
    uint64_t order;
    uint64_t cookie;
    uint32_t owner; /* the service's slot */
};

struct timers {
    struct timer *heap; /* borrowed */
    uint32_t count, most;
    uint64_t order;
};

/* False: there is no room. */
bool timers_set(struct timers *timers, env_nsec at, uint32_t owner, uint64_t cookie);
/* Removes the first timer that is due and was set before `order`; false: none. */
bool timers_take(struct timers *timers, env_nsec now, uint64_t order, struct timer *timer);

static inline env_nsec timers_next(const struct timers *timers)
{
    return timers->count ? timers->heap[0].at : ENV_NEVER;
}
