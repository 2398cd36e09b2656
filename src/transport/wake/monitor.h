#pragma once
/* monitor: a mutex, and the wait of those who have it for something to move. For what is slow
 * anyway: where every nanosecond counts there is transport/wake/lock.h. It knows which thread has
 * it, so that whoever drops it, waits or wakes without having taken it is found out. */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/check.h"
#include "transport/clock.h"
#include "transport/wake/lock.h"

struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uintptr_t holder; /* the thread that has it, or 0; under the mutex */
};

/* No thread has it. It needs no closing: it holds no memory and no descriptor. */
#define MONITOR_INIT                                                                               \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                     \
    }

static inline void monitor_take(struct monitor *monitor)
{
    pthread_mutex_lock(&monitor->mutex);
    assert(!monitor->holder);
    monitor->holder = lock_self();
}

static inline void monitor_drop(struct monitor *monitor)
{
    assert(monitor->holder == lock_self());
    monitor->holder = 0;
    pthread_mutex_unlock(&monitor->mutex);
}

/* With it: gives it up until it is woken, or for no reason: then 0. -ETIMEDOUT. */
static inline int monitor_wait(struct monitor *monitor, nsec deadline)
{
    struct timespec moment = clock_timespec(deadline);
    assert(monitor->holder == lock_self());
    monitor->holder = 0;
    int error = deadline == NSEC_NEVER ? pthread_cond_wait(&monitor->moved, &monitor->mutex)
                                       : pthread_cond_clockwait(&monitor->moved, &monitor->mutex,
                                                                CLOCK_MONOTONIC, &moment);
    assert(!monitor->holder);
    monitor->holder = lock_self();
    return -error;
}

/* With it: all who wait look again. */
static inline void monitor_wake(struct monitor *monitor)
{
    assert(monitor->holder == lock_self());
    pthread_cond_broadcast(&monitor->moved);
}
