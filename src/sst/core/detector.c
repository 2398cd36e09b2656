/* detector: the loop that notices. A pass takes over what the keeper told, moves what does
 * not move by itself, looks at the columns, and evaluates and fires. Between passes it
 * polls, then yields, then sleeps on a bell that whoever puts rings.
 *
 * Over a fabric that places words without its processor's help nobody can ring when a word
 * arrives. There the sleeper first says so in its row (asleep) and waits until everybody
 * has that; and whoever writes looks at it when its write has been placed, and then sends a
 * notification. One of the two sees the other: the word was placed before asleep was
 * seen, and then the last look finds it, or after, and then it is told of. */
#include <errno.h>

#include "base/compare.h"
#include "sst/core/sst_impl.h"
#include "transport/wake/wait.h"

#define ASLEEP_NSEC (2 * 1000 * 1000LL) /* how long the others may take to notice */
/* A member that does not know that we sleep, for it hangs, does not wake us: we look so often. */
#define UNTOLD_NAP_NSEC (100 * 1000 * 1000LL)
#define MANUAL_NAP_NSEC (5 * 1000 * 1000LL) /* without a keeper its messages wait so long */
#define MEMBERS_TURNS   16                  /* busy steps between two looks for messages */

void detector_enter(struct sst *sst)
{
    if (!share_in_pass(&sst->share))
        lock_take(&sst->detect_lock);
}

void detector_leave(struct sst *sst)
{
    if (!share_in_pass(&sst->share))
        lock_drop(&sst->detect_lock);
}

/* Fetches, and sends what is owed. */
static int detector_move(struct sst *sst)
{
    bool carries = atomic_load_explicit(&sst->share.carries, memory_order_relaxed);
    if (!carries && sst->config.design == SST_WRITES)
        return 0;
    if (carries)
        reach_progress(sst->ripc);
    lock_take(&sst->share.put_lock);
    int moved = sst->share.spread.ops->move(&sst->share.spread);
    lock_drop(&sst->share.put_lock);
    return moved;
}

int detector_pass(struct sst *sst)
{
    int happened = 0;
    lock_take(&sst->detect_lock);
    atomic_store_explicit(&sst->share.detecting, lock_self(), memory_order_relaxed);
    if (atomic_load_explicit(&sst->events_wait, memory_order_relaxed))
        happened += membership_take_over(sst);
    happened += detector_move(sst);
    happened += predicates_pass(&sst->predicates, sst);
    atomic_store_explicit(&sst->share.detecting, 0, memory_order_relaxed);
    lock_drop(&sst->detect_lock);
    return happened;
}

/* ---- sleeping ---- */

static bool detector_is_due(struct sst *sst)
{
    if (atomic_load_explicit(&sst->events_wait, memory_order_relaxed) ||
        atomic_load_explicit(&sst->stopping, memory_order_relaxed) || share_is_due(&sst->share))
        return true;
    lock_take(&sst->detect_lock);
    bool due = predicates_are_due(&sst->predicates);
    lock_drop(&sst->detect_lock);
    return due;
}

/* Says in the own row whether we sleep. Returns whether all others have that. */
static bool asleep_say(struct sst *sst, bool asleep)
{
    nsec deadline = clock_after(ASLEEP_NSEC);
    lock_take(&sst->share.put_lock);
    own_set_head(&sst->share.own, ROW_ASLEEP, asleep);
    lock_drop(&sst->share.put_lock);
    if (!asleep)
        return true; /* a member that does not know it yet wakes us needlessly */
    while (!share_flush(&sst->share)) {
        if (clock_is_past(deadline))
            return false;
        reach_progress(sst->ripc);
    }
    return true;
}

static nsec sleep_end(struct sst *sst, bool carries, nsec until)
{
    nsec nap = NSEC_NEVER;
    if (carries && sst->config.design == SST_READS)
        nap = clock_after(sst->config.refresh_nsec);
    else if (sst->config.flags & SST_MANUAL)
        nap = clock_after(MANUAL_NAP_NSEC);
    return least_i64(nap, until);
}

void detector_sleep(struct sst *sst, nsec until)
{
    bool carries = atomic_load_explicit(&sst->share.carries, memory_order_relaxed);
    bool unseen = sst->config.design == SST_WRITES &&
                  atomic_load_explicit(&sst->share.unseen, memory_order_relaxed);
    bool told = !unseen || asleep_say(sst, true);
    doorbell_prepare(&sst->share.bell.door, DOORBELL_FUTEX);
    if (carries)
        reach_arm(sst->ripc);
    if (detector_is_due(sst)) {
        doorbell_cancel(&sst->share.bell.door);
    } else {
        counter_add(&sst->blocks, 1);
        nsec untold = told ? NSEC_NEVER : clock_after(UNTOLD_NAP_NSEC);
        doorbell_wait(&sst->share.bell.door, sleep_end(sst, carries, least_i64(untold, until)));
    }
    if (unseen)
        asleep_say(sst, false);
}

/* ---- the thread ---- */

void *detector_run(void *argument)
{
    struct sst *sst = argument;
    struct wait wait;
    lock_take(&sst->detect_lock);
    lock_favour(&sst->detect_lock);
    lock_drop(&sst->detect_lock);
    lock_take(&sst->share.put_lock);
    lock_favour(&sst->share.put_lock);
    lock_drop(&sst->share.put_lock);
    bool waits = false; /* it begins when a pass finds nothing: passes come thick and fast */
    while (!atomic_load_explicit(&sst->stopping, memory_order_relaxed)) {
        if (detector_pass(sst)) {
            waits = false;
            continue;
        }
        if (!waits)
            wait_start(&wait, sst->config.spin_nsec, sst->config.yield_nsec);
        waits = wait_turn(&wait, NSEC_NEVER) != WAIT_BLOCK;
        if (!waits)
            detector_sleep(sst, NSEC_NEVER);
    }
    return NULL;
}

/* ---- the caller's own loop ---- */

static int step(struct sst *sst, int64_t deadline)
{
    struct wait wait;
    wait_start(&wait, sst->config.spin_nsec, sst->config.yield_nsec);
    for (;;) {
        uint64_t fired = sst->predicates.fires;
        int happened = detector_pass(sst);
        /* Members come and go seldom, and looking for it costs as much as a pass. */
        if (!happened || sst->steps++ % MEMBERS_TURNS == 0)
            happened += members_step(sst->members, RIPC_NOW) > 0;
        fired = sst->predicates.fires - fired;
        if (happened)
            return fired < INT32_MAX ? (int)fired : INT32_MAX;
        if (deadline == RIPC_NOW)
            return -EAGAIN;
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return -ETIMEDOUT;
        if (advice == WAIT_BLOCK)
            detector_sleep(sst, deadline);
    }
}

int sst_step(struct sst *sst, int64_t deadline)
{
    if (!(sst->config.flags & SST_MANUAL))
        return -EINVAL;
    if (share_in_pass(&sst->share))
        return -EDEADLK;
    if (atomic_exchange_explicit(&sst->stepping, 1, memory_order_acquire))
        return -EBUSY;
    int result = step(sst, deadline);
    atomic_store_explicit(&sst->stepping, 0, memory_order_release);
    return result;
}
