#pragma once
/* lock: mutual exclusion between threads of one process, nearly free for one.
 *
 * The favoured thread (lock_favour) comes and goes by plain loads and stores:
 * an atomic exchange would have to wait until everything stored before it has
 * left the processor, which costs a sender of messages more than the message.
 * Any other thread first takes an ordinary mutex, then closes the gate, makes
 * the kernel put a barrier into the favoured thread (membarrier), and waits
 * until that is outside. If many others come, favour ends: then it is an
 * ordinary lock for all. Not recursive. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock {
    /* The favoured thread, or 0. Written under `state`, relaxed: only that thread
     * itself takes it for more than a hint. */
    _Atomic uintptr_t favoured;
    /* 0 while closed; else how often it was opened. Written under `state`: relaxed to
     * close, ordered by signal fences here and membarrier there; release to open. */
    _Atomic uint64_t gate;
    /* The favoured thread is inside, or looking. Written by it only; the release of 0
     * carries what it did inside to whoever acquires that 0. */
    _Atomic uint32_t active;
    /* The mutex of the others: 0 free, 1 held, 2 held and somebody may sleep.
     * Acquire on the way in and release on the way out carry what it protects. */
    _Atomic uint32_t state;
    /* The gate as the favoured thread last saw it; its own. While that is so
     * nobody else was inside, and there is nothing to acquire. */
    uint64_t ticket;
    /* The rest is protected by the lock itself. */
    uint64_t opened;    /* how often the gate was */
    bool fast;          /* whoever is inside came by the gate */
    uintptr_t rare;     /* a thread that comes seldom and does not end the favour */
    uint32_t strangers; /* others that came */
};

static inline uintptr_t lock_self(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* The favoured thread finds the gate other than it left it. False: closed. */
bool lock_pass_gate(struct lock *lock);

/* The ways of the others. */
void lock_take_slowly(struct lock *lock);
bool lock_try_slowly(struct lock *lock);
void lock_drop_slowly(struct lock *lock);
void lock_wake_closer(struct lock *lock);

/* With the lock held: makes the calling thread the favoured one, if nobody is
 * and nobody else was. */
void lock_favour(struct lock *lock);

/* The calling thread comes seldom: it never costs the favoured one its favour. */
void lock_rare(struct lock *lock);

/* Drops it so that whoever wants it gets it before we take it again. */
void lock_pass(struct lock *lock);

static inline bool lock_is_favourite(const struct lock *lock)
{
    return atomic_load_explicit(&lock->favoured, memory_order_relaxed) == lock_self();
}

/* The favoured thread's way in. False: the gate is closed. */
static inline bool lock_enter(struct lock *lock)
{
    atomic_store_explicit(&lock->active, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the processor's order: membarrier */
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

/* Takes it unless somebody has it, or wants it: false, then. */
static inline bool lock_try(struct lock *lock)
{
    if (lock_is_favourite(lock))
        return lock_enter(lock);
    return lock_try_slowly(lock);
}

/* With the lock held: does somebody wait for it? */
static inline bool lock_is_wanted(const struct lock *lock)
{
    return lock->fast ? atomic_load_explicit(&lock->gate, memory_order_relaxed) == 0
                      : atomic_load_explicit(&lock->state, memory_order_relaxed) == 2;
}
