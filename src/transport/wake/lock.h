#pragma once
/* lock: mutual exclusion between threads of one process, nearly free for one of them.
 *
 * The favoured thread (lock_favour) enters and leaves by plain loads and stores. An atomic exchange
 * would have to wait until everything stored before it has left the processor, which costs a sender
 * of messages more than the message. Any other thread first takes an ordinary mutex, then closes
 * the gate, makes the kernel execute a barrier in the favoured thread (membarrier), and waits until
 * that thread is outside. If other threads come often, the favour ends: then the lock is an
 * ordinary lock for all. Not recursive. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock {
    /* The favoured thread, or 0. Written under `state`, relaxed: for any other thread that reads it
     * without `state` it is only a hint. */
    _Atomic uintptr_t favoured;
    /* 0 while closed; else how often the gate was opened. Written under `state`: relaxed to close,
     * ordered by signal fences in the favoured thread and membarrier in the other; release to
     * open. */
    _Atomic uint64_t gate;
    /* 1 while the favoured thread is inside or about to enter. Only that thread writes it; the
     * release of 0 carries what it did inside to the thread that acquires that 0. */
    _Atomic uint32_t active;
    /* The mutex of the other threads: 0 free, 1 held, 2 held and a thread may sleep. Acquire on the
     * way in and release on the way out carry what it protects. */
    _Atomic uint32_t state;
    /* The gate as the favoured thread last saw it; private to that thread. While the gate still has
     * this value no other thread was inside, and there is nothing to acquire. */
    uint64_t ticket;
    /* The rest is protected by the lock itself. */
    uint64_t opened;    /* how often the gate was opened */
    bool fast;          /* the thread inside came through the gate */
    uintptr_t rare;     /* a thread that comes seldom and does not end the favour */
    uint32_t strangers; /* how often other threads came */
};

static inline uintptr_t lock_self(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* Called when the gate differs from what the favoured thread last saw. False: it is closed. */
bool lock_pass_gate(struct lock *lock);

/* The slow paths, for the other threads. */
void lock_take_slowly(struct lock *lock);
bool lock_try_slowly(struct lock *lock);
void lock_drop_slowly(struct lock *lock);
void lock_wake_closer(struct lock *lock);

/* With the lock held: makes the calling thread the favoured one, unless there is a favoured thread
 * already or another thread came in while there was one. */
void lock_favour(struct lock *lock);

/* Marks the calling thread as one that comes seldom: it never ends the favour. */
void lock_rare(struct lock *lock);

/* Drops the lock so that a waiting thread gets it before this thread takes it again. */
void lock_pass(struct lock *lock);

static inline bool lock_is_favourite(const struct lock *lock)
{
    return atomic_load_explicit(&lock->favoured, memory_order_relaxed) == lock_self();
}

/* The way in for the favoured thread. False: the gate is closed. */
static inline bool lock_enter(struct lock *lock)
{
    atomic_store_explicit(&lock->active, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* membarrier orders the processor */
    if (atomic_load_explicit(&lock->gate, memory_order_relaxed) != lock->ticket &&
        !lock_pass_gate(lock))
        return false;
    lock->fast = true;
    return true;
}

static inline void lock_take(struct lock *lock)
{
    if (!lock_is_favourite(lock) || !lock_enter(lock))
        lock_take_slowly(lock);
}

static inline void lock_drop(struct lock *lock)
{
    if (!lock->fast) {
        lock_drop_slowly(lock);
        return;
    }
    atomic_store_explicit(&lock->active, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->gate, memory_order_relaxed) == 0)
        lock_wake_closer(lock);
}

/* Takes the lock unless another thread holds it or waits for it. Returns whether it took it. */
static inline bool lock_try(struct lock *lock)
{
    if (lock_is_favourite(lock))
        return lock_enter(lock);
    return lock_try_slowly(lock);
}

/* With the lock held: does another thread wait for it? */
static inline bool lock_is_wanted(const struct lock *lock)
{
    return lock->fast ? atomic_load_explicit(&lock->gate, memory_order_relaxed) == 0
                      : atomic_load_explicit(&lock->state, memory_order_relaxed) == 2;
}
