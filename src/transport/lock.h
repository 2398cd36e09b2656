#pragma once
/* lock: mutual exclusion that costs two atomic operations while nobody else
 * wants it, and sleeps when somebody does. Not recursive, one process. */

#include <stdatomic.h>
#include <stdint.h>

struct lock {
    /* 0 free, 1 held, 2 held and somebody may sleep. Acquire on the way in and
     * release on the way out carry everything the lock protects. */
    _Atomic uint32_t state;
};

void lock_wait(struct lock *lock); /* the slow way in */
void lock_wake(struct lock *lock); /* the slow way out */

/* Drops it so that a sleeper gets it before we take it again, or nobody wants it after all. */
void lock_pass(struct lock *lock);

static inline void lock_take(struct lock *lock)
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        lock_wait(lock);
}

static inline void lock_drop(struct lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
        lock_wake(lock);
}
