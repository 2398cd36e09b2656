/* lock: why no thread sleeps forever.
 *
 * A sleeper on `state` has stored 2 and sleeps only while the word is 2. A holder that drops the
 * lock exchanges the word for 0 in one atomic step. If it finds 2, it wakes one sleeper, which
 * stores 2 again before it looks, so that the next drop wakes the next sleeper.
 *
 * A sleeper on `active` is the one thread that holds the mutex and closes the gate. It and the
 * favoured thread each store one word, then load the word that the other stored:
 *
 *   closer                              favoured thread
 *   gate = 0                            active = 1, or active = 0
 *   membarrier                          (compiler fence)
 *   load active; sleep while it is 1    load gate; wake the closer if it is 0
 *
 * The favoured thread has no barrier between its store and its load, and both x86 and ARM let a
 * processor perform the load first. membarrier supplies the barrier: it makes the favoured thread's
 * processor execute a full barrier at some point P of that thread's program order (where the thread
 * does not run, the switch to another thread was one). The compiler fence keeps store and load in
 * program order. There are two cases for the last store to `active` before the closer looks.
 * - The store is before P. Then the closer, which loads after membarrier, sees it or a later one.
 * - The store is after P. Then so is the load of the gate, and the load sees 0, for only the closer
 *   opens the gate again. So a favoured thread that stored 1 does not enter; it stores 0 and wakes
 *   the closer. A favoured thread that stored 0 on its way out wakes the closer.
 *
 * In both cases a 1 that the closer sees is followed by a 0 and a wake-up, or by a 0 that is stored
 * before P and hence seen. The system call of the wake-up contains a full barrier, and the system
 * call of the sleep compares the word under the same lock in the kernel: a 0 that is stored before
 * the wake-up either ends the comparison or finds the sleeper. */
#include "transport/wake/lock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/clock.h"

#define LOCK_SPIN_TURNS    40  /* about a microsecond: holders usually keep it for less */
#define LOCK_PASS_TURNS    500 /* about ten microseconds: a woken sleeper runs by then */
#define LOCK_STRANGERS_MAX 256

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

/* Keeps the favoured thread out. After the barrier either it has seen that the gate is closed, or
 * we see that it is inside. */
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
    lock->ticket = UINT64_MAX; /* no gate has this value: 0 would match a closed one */
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
