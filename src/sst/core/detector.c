/* detector: the loop that notices changes. A pass takes over membership events, moves rows that do
 * not move by themselves, compares the columns, evaluates predicates and fires triggers. Between
 * passes it polls, then yields, then sleeps on a bell that every put rings.
 *
 * A fabric that places words without the help of the member's processor cannot ring a bell when a
 * word arrives. There the sleeping detector first sets `asleep` in its row and waits until all
 * members have received it. A writer reads `asleep` after its write has been placed, and then sends
 * a notification. One of the two always notices the other: if the word was placed before the writer
 * could see `asleep`, the detector's last check finds the word; otherwise the writer sees `asleep`
 * and notifies. */
#include <errno.h>

#include "base/compare.h"
#include "sst/core/sst_impl.h"
#include "transport/wake/wait.h"

#define ASLEEP_NSEC (2 * 1000 * 1000LL) /* how long the others may take to receive `asleep` */
/* The longest sleep while some member has not received `asleep`: it would not wake us. */
#define UNTOLD_NAP_NSEC (100 * 1000 * 1000LL)
#define MANUAL_NAP_NSEC (5 * 1000 * 1000LL) /* longest sleep of a step: messages may wait */
#define MEMBERS_TURNS   16                  /* busy steps between two checks for messages */

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

/* Fetches rows, and sends owed ones. */
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
    if (happened == 0 || owner_is_here(&sst->owner)) {
        happened += detector_move(sst);
        happened += predicates_pass(&sst->predicates, sst);
    } /* else an upcall forked, and this is the child */
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

/* Sets `asleep` in the own row. Returns whether all others have received it. */
static bool asleep_say(struct sst *sst, bool asleep)
{
    nsec deadline = clock_after(ASLEEP_NSEC);
    lock_take(&sst->share.put_lock);
    own_set_head(&sst->share.own, ROW_ASLEEP, asleep);
    uint64_t said = sst->share.own.sequence;
    lock_drop(&sst->share.put_lock);
    if (!asleep)
        return true; /* no wait: a member that does not know yet only wakes us needlessly */
    while (!share_flush(&sst->share, said)) {
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

/* Ends in a child, too, if a trigger forks and returns there. */
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
    bool waits = false; /* `wait` runs; only idle passes start it, so that busy ones are fast */
    while (!atomic_load_explicit(&sst->stopping, memory_order_relaxed) &&
           owner_is_here(&sst->owner)) {
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
        if (!owner_is_here(&sst->owner))
            return -ECHILD; /* a trigger forked, and this is the child */
        /* Members change rarely, and the check costs as much as a pass. */
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
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
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
