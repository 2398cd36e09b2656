/* lock: why no thread sleeps forever.
 *
 * A thread that sleeps on `state` has stored 2 there, and sleeps only while the word is 2. The
 * holder drops the lock by an atomic exchange of the word with 0. If it finds 2, it wakes one
 * sleeper. The woken thread exchanges the word with 2, whether it then holds the lock or sleeps
 * again; so the next drop also finds 2 and wakes the next sleeper.
 *
 * Only one thread at a time sleeps on `active`: the closer, which holds the mutex and closes the
 * gate. The closer and the favoured thread each store one word, then load the word of the other:
 *
 *   closer                              favoured thread
 *   gate = 0                            active = 1, or active = 0
 *   membarrier                          (compiler fence)
 *   load active; sleep while it is 1    load gate; wake the closer if it is 0
 *
 * The favoured thread has no barrier between its store and its load, and both x86 and ARM let a
 * processor perform the load first. membarrier supplies the barrier: it makes the favoured thread's
 * processor execute a full barrier at some point P of that thread's program order. (If the thread
 * does not run then, the switch to another thread was such a barrier.) The compiler fence keeps
 * store and load in program order. There are two cases for each store to `active`.
 * - The store is before P. Then the closer, which loads after membarrier, sees it or a later one.
 * - The store is after P. Then the load of the gate is after P, too, and sees 0, because only the
 *   closer opens the gate again. A favoured thread that stored 1 does not enter: it stores 0 and
 *   wakes the closer. A favoured thread that stored 0 on its way out wakes the closer.
 *
 * So every 1 is followed by a 0 that the closer sees (stored before P), or by a 0 and a wake-up
 * (stored after P). The system call of the wake-up contains a full barrier, and the system call of
 * the sleep compares the word under the lock that the wake-up takes in the kernel. So either the
 * comparison finds the 0 and the closer does not sleep, or the closer sleeps already and the
 * wake-up finds it. */
#include "transport/wake/lock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/clock.h"

#define LOCK_SPIN_TURNS    40  /* about a microsecond: holders usually keep the lock for less */
#define LOCK_PASS_TURNS    500 /* about ten microseconds: a woken sleeper runs by then */
#define LOCK_STRANGERS_MAX 256 /* how often other threads may come before the favour ends */

/* Waits have no timeout: the comment at the top of this file shows that no wake-up is lost. */
static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* ---- the mutex of the other threads ---- */

static void mutex_take(struct lock *lock)
{
    for (unsigned turn = 0; turn < LOCK_SPIN_TURNS; turn++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_weak_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return;
        cpu_relax();
    }
    /* From here on a thread takes the mutex as 2, because others may sleep. */
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        futex(&lock->state, FUTEX_WAIT_PRIVATE, 2);
}

static void mutex_drop(struct lock *lock)
{
    uint32_t before = atomic_exchange_explicit(&lock->state, 0, memory_order_release);
    assert(before != 0); /* the lock was held */
    if (before == 2)
        futex(&lock->state, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- the gate ---- */

bool lock_pass_gate(struct lock *lock)
{
    /* Acquire pairs with the release that opened the gate, so we see what other threads did
     * inside. */
    uint64_t gate = atomic_load_explicit(&lock->gate, memory_order_acquire);
    if (gate) {
        lock->ticket = gate;
        return true;
    }
    atomic_store_explicit(&lock->active, 0, memory_order_release);
    lock_wake_closer(lock);
    return false;
}

void lock_wake_closer(struct lock *lock)
{
    futex(&lock->active, FUTEX_WAKE_PRIVATE, 1);
}

/* Keeps the favoured thread out. After the barrier, either the favoured thread sees that the gate
 * is closed, or we see that the favoured thread is inside and wait until it leaves. */
static void gate_close(struct lock *lock)
{
    atomic_store_explicit(&lock->gate, 0, memory_order_relaxed);
    long result = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    assert(result == 0); /* without the barrier two threads could be inside */
    for (unsigned turn = 0; atomic_load_explicit(&lock->active, memory_order_acquire); turn++) {
        if (turn < LOCK_SPIN_TURNS)
            cpu_relax();
        else
            futex(&lock->active, FUTEX_WAIT_PRIVATE, 1);
    }
}

/* With the mutex held: keeps the favoured thread out, if there is one. */
static void lock_taken(struct lock *lock)
{
    uintptr_t self = lock_self();
    uintptr_t favoured = atomic_load_explicit(&lock->favoured, memory_order_relaxed);
    if (favoured && favoured != self) {
        gate_close(lock);
        if (self != lock->rare && ++lock->strangers > LOCK_STRANGERS_MAX)
            atomic_store_explicit(&lock->favoured, 0, memory_order_relaxed);
    }
    lock->fast = false;
}

void lock_take_slowly(struct lock *lock)
{
    mutex_take(lock);
    lock_taken(lock);
}

bool lock_try_slowly(struct lock *lock)
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    lock_taken(lock);
    return true;
}

void lock_drop_slowly(struct lock *lock)
{
    /* Release carries what we did inside to the favoured thread when it enters. */
    if (atomic_load_explicit(&lock->favoured, memory_order_relaxed))
        atomic_store_explicit(&lock->gate, ++lock->opened, memory_order_release);
    mutex_drop(lock);
}

void lock_favour(struct lock *lock)
{
    if (atomic_load_explicit(&lock->favoured, memory_order_relaxed) || lock->strangers)
        return;
    int known = (int)syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known < 0 || !(known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) < 0)
        return;
    lock->ticket = UINT64_MAX; /* the gate never has this value; 0 would match a closed gate */
    atomic_store_explicit(&lock->favoured, lock_self(), memory_order_relaxed);
}

void lock_rare(struct lock *lock)
{
    lock->rare = lock_self();
}

void lock_pass(struct lock *lock)
{
    lock_drop(lock);
    /* The woken thread needs a few microseconds; without this pause we would take the lock back
     * before it runs, every time. */
    for (unsigned turn = 0; turn < LOCK_PASS_TURNS; turn++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) != 0)
            break;
        cpu_relax();
    }
    lock_take(lock);
}
