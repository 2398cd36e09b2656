#pragma once
/* monitor: a mutex with a condition variable, for code that is slow anyway; where every nanosecond
 * counts use transport/wake/lock.h. It records which thread holds it, so that dropping, waiting or
 * waking without holding it fails an assertion. */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/check.h"
#include "transport/clock.h"
#include "transport/wake/lock.h"

struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uintptr_t holder; /* the thread that holds it, or 0; written under the mutex */
};

/* No thread holds it. It needs no closing: it holds no memory and no descriptor. */
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

/* With the monitor held: releases it until it is woken, takes it again and returns 0 (which may
 * also happen without a reason) or -ETIMEDOUT. */
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

/* With the monitor held: wakes all waiting threads, which then look again. */
static inline void monitor_wake(struct monitor *monitor)
{
    assert(monitor->holder == lock_self());
    pthread_cond_broadcast(&monitor->moved);
}
