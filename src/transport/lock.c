#include "transport/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/clock.h"

#define LOCK_SPIN_TURNS 40  /* about a microsecond: holders keep it for less, mostly */
#define LOCK_PASS_TURNS 500 /* about ten: a sleeper is awake by then */

void lock_wait(struct lock *lock)
{
    for (unsigned turn = 0; turn < LOCK_SPIN_TURNS; turn++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_weak_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return;
        cpu_relax();
    }
    /* From here on whoever takes it takes it as 2: others may sleep. */
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void lock_wake(struct lock *lock)
{
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void lock_pass(struct lock *lock)
{
    lock_drop(lock);
    /* The woken thread needs a few microseconds; without this pause we would have
     * the lock back before it runs, every time. */
    for (unsigned turn = 0; turn < LOCK_PASS_TURNS; turn++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) != 0)
            break;
        cpu_relax();
    }
    lock_take(lock);
}
