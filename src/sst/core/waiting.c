/* waiting: the public calls that wait for the table. A waiting thread first evaluates the condition
 * itself; then it leaves that to the detector and sleeps. */
#include <errno.h>
#include <time.h>

#include "base/compare.h"
#include "sst/core/sst_impl.h"
#include "transport/wake/wait.h"

#define FLUSH_PAUSE_NSEC (50 * 1000LL)

/* A thread that waits for a predicate. No other lock is taken while its lock is held. */
struct waiter {
    struct monitor lock;
    bool done;
};

static void waiter_done(struct sst *sst, void *argument)
{
    struct waiter *waiter = argument;
    monitor_take(&waiter->lock);
    waiter->done = true;
    monitor_wake(&waiter->lock);
    monitor_drop(&waiter->lock);
}

static bool waiter_sleep(struct waiter *waiter, nsec deadline)
{
    int result = 0;
    monitor_take(&waiter->lock);
    while (!waiter->done && result != -ETIMEDOUT)
        result = monitor_wait(&waiter->lock, deadline);
    bool done = waiter->done;
    monitor_drop(&waiter->lock);
    return done;
}

/* Adds the predicate with that trigger; adds nothing if one of the two fails. */
static int predicate_begin(struct sst *sst, const struct sst_predicate *predicate, sst_fire *fire,
                           void *argument, uint64_t *handle)
{
    detector_enter(sst);
    int result = predicates_add(&sst->predicates, predicate, handle);
    if (result == 0) {
        result = predicates_trigger(&sst->predicates, *handle, fire, argument);
        if (result)
            predicates_remove(&sst->predicates, *handle);
    }
    detector_leave(sst);
    return result;
}

/* Lets the detector evaluate the predicate, and sleeps. */
static int wait_by_predicate(struct sst *sst, const struct sst_predicate *predicate,
                             int64_t deadline)
{
    struct waiter waiter = {.lock = MONITOR_INIT};
    uint64_t handle;
    int result = predicate_begin(sst, predicate, waiter_done, &waiter, &handle);
    if (result == 0) {
        bell_ring(&sst->share.bell);
        bool done = waiter_sleep(&waiter, deadline);
        detector_enter(sst);
        if (!done && predicates_remove(&sst->predicates, handle) == 0)
            result = -ETIMEDOUT; /* otherwise it fired just now */
        detector_leave(sst);
    }
    return result;
}

static void step_done(struct sst *sst, void *argument)
{
    bool *done = argument;
    *done = true;
}

/* A step sleeps until a column changes that a predicate names, so the predicate is registered for
 * the duration of the wait. */
static int wait_by_steps(struct sst *sst, const struct sst_predicate *predicate, int64_t deadline)
{
    bool done = false;
    uint64_t handle;
    int result = predicate_begin(sst, predicate, step_done, &done, &handle);
    if (result)
        return result;
    while (result >= 0 && !done) {
        result = sst_step(sst, deadline);
        /* A step in which something happened does not check the clock. */
        if (result >= 0 && clock_is_past(deadline))
            result = deadline == RIPC_NOW ? -EAGAIN : -ETIMEDOUT;
    }
    if (done)
        return 0;
    detector_enter(sst);
    predicates_remove(&sst->predicates, handle);
    detector_leave(sst);
    return result;
}

static int wait_until(struct sst *sst, const struct sst_predicate *predicate, int64_t deadline)
{
    struct wait wait;
    if (share_in_pass(&sst->share))
        return -EDEADLK;
    if (sst->config.flags & SST_MANUAL)
        return wait_by_steps(sst, predicate, deadline);
    wait_start(&wait, sst->config.spin_nsec, sst->config.yield_nsec);
    for (;;) {
        if (predicate->holds(sst, predicate->argument))
            return 0;
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return deadline == RIPC_NOW ? -EAGAIN : -ETIMEDOUT;
        if (advice == WAIT_BLOCK)
            return wait_by_predicate(sst, predicate, deadline);
    }
}

int sst_wait(struct sst *sst, sst_holds *holds, void *argument, const uint32_t *columns,
             uint32_t column_count, int64_t deadline)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    if (!holds)
        return -EINVAL;
    return wait_until(sst,
                      &(struct sst_predicate){
                          .name = "wait",
                          .kind = SST_ONCE,
                          .holds = holds,
                          .argument = argument,
                          .columns = columns,
                          .column_count = column_count,
                      },
                      deadline);
}

/* ---- barrier ---- */

static bool barrier_holds(const struct sst *sst, void *argument)
{
    uint64_t count_wanted = *(const uint64_t *)argument;
    for (uint32_t row = 0; table_next_live(&sst->table, &row); row++)
        if (table_cell(&sst->table, row, ROW_BARRIER) < count_wanted)
            return false;
    return true;
}

/* Returns the number of this barrier: our next one, or the one at which others already wait. They
 * may have passed some before we were a member. A call after a timeout counts as the same
 * barrier. */
static uint64_t barrier_next(const struct sst *sst)
{
    uint64_t next = row_load(sst->share.own.row, ROW_BARRIER);
    if (sst->barrier_open)
        return next; /* others may already wait at the next one */
    next++;
    for (uint32_t row = 0; table_next_live(&sst->table, &row); row++) {
        uint64_t its = table_cell(&sst->table, row, ROW_BARRIER);
        next = most_u64(its, next);
    }
    return next;
}

int sst_barrier(struct sst *sst, int64_t deadline)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    if (share_in_pass(&sst->share))
        return -EDEADLK;
    lock_take(&sst->share.put_lock);
    uint64_t wanted = barrier_next(sst);
    if (wanted != row_load(sst->share.own.row, ROW_BARRIER))
        own_set_head(&sst->share.own, ROW_BARRIER, wanted);
    sst->barrier_open = true;
    lock_drop(&sst->share.put_lock);
    uint32_t column = PREDICATE_BARRIER;
    struct sst_predicate predicate = {
        .name = "barrier",
        .kind = SST_ONCE,
        .holds = barrier_holds,
        .argument = &wanted,
        .columns = &column,
        .column_count = 1,
    };
    int result = wait_until(sst, &predicate, deadline);
    if (result == 0) {
        lock_take(&sst->share.put_lock);
        sst->barrier_open = false;
        lock_drop(&sst->share.put_lock);
    }
    return result;
}

/* ---- flush ---- */

int sst_flush(struct sst *sst, int64_t deadline)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    struct wait wait;
    uint64_t last = share_last_put(&sst->share);
    wait_start(&wait, sst->config.spin_nsec, sst->config.yield_nsec);
    while (!share_flush(&sst->share, last)) {
        reach_progress(sst->ripc);
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return deadline == RIPC_NOW ? -EAGAIN : -ETIMEDOUT;
        if (advice == WAIT_BLOCK)
            clock_nap(FLUSH_PAUSE_NSEC);
    }
    return 0;
}
