/* keeper: the thread that maintains the membership of a table. It carries the messages of the
 * council, holds the meetings that the council requests (members/meeting.h), and reports triggers
 * that run too long. Without threads (SST_MANUAL) sst_step carries the messages and holds the
 * meetings, and long triggers are not reported. */
#include <errno.h>

#include "base/check.h"
#include "sst/core/sst_impl.h"

#define EVENTS_NSEC   (1000 * 1000 * 1000LL) /* how long a meeting waits for the detector */
#define EVENTS_PAUSE  (100 * 1000LL)         /* between two checks of the detector */
#define TRIGGERS_NSEC (500 * 1000 * 1000LL)  /* between two checks of running triggers */

/* ---- meetings ---- */

/* Waits until the detector has handled all events. Until then the memory of the row (its seat) may
 * still be shown by the table, as the row of an earlier member. -EBUSY: a trigger blocks the
 * detector for too long. */
static int events_wait_for(struct sst *sst)
{
    nsec deadline = clock_after(EVENTS_NSEC);
    while (atomic_load_explicit(&sst->events_wait, memory_order_acquire)) {
        if (sst->config.flags & SST_MANUAL || !sst->detector.running)
            detector_pass(sst);
        else if (clock_is_past(deadline))
            return -EBUSY;
        else
            clock_nap(EVENTS_PAUSE);
    }
    return 0;
}

static int meeting_offer(struct sst *sst, uint32_t row, ripc_id member, struct introduction *out)
{
    assert(row < sst->config.rows_max);
    int result = events_wait_for(sst);
    return result ? result : target_offer(&sst->share, row, member, out);
}

static int meeting_accept(struct sst *sst, uint32_t row, ripc_id member,
                          const struct introduction *from, int64_t deadline)
{
    struct own *own = &sst->share.own;
    assert(sst->share.seats[row].target.member == member);
    lock_take(&sst->share.put_lock);
    if (sst_epoch(sst) == 0 && from->barrier > row_load(own->row, ROW_BARRIER))
        own_set_head(own, ROW_BARRIER,
                     from->barrier); /* we join: begin with the barrier that the others reached */
    lock_drop(&sst->share.put_lock);
    return target_open(&sst->share, row, from, deadline);
}

static void meeting_part(struct sst *sst, uint32_t row)
{
    target_close(&sst->share, row);
}

const struct meeting_ops keeper_meetings = {
    .offer = meeting_offer,
    .accept = meeting_accept,
    .part = meeting_part,
    .install = membership_install,
    .fail = membership_fail,
    .expelled = membership_expelled,
};

/* ---- the thread ---- */

/* Reports a trigger that runs too long, once. */
static void trigger_watch(struct sst *sst)
{
    char name[SST_NAME_MAX];
    uint64_t running = predicates_running(&sst->predicates, name);
    if (running == 0 || running != sst->stuck_seen) {
        sst->stuck_seen = running;
        sst->stuck_since = clock_now();
        sst->stuck_told = false;
        return;
    }
    nsec length = clock_now() - sst->stuck_since;
    if (sst->stuck_told || length < sst->config.trigger_nsec || !sst->config.upcall)
        return;
    sst->stuck_told = true;
    sst->config.upcall(sst, &(struct sst_news){.kind = SST_STUCK, .name = name, .nsec = length},
                       sst->config.argument);
}

void *keeper_run(void *argument)
{
    struct sst *sst = argument;
    nsec quarter = sst->config.trigger_nsec / 4;
    nsec nap = quarter < TRIGGERS_NSEC ? quarter + 1 : TRIGGERS_NSEC;
    while (!atomic_load_explicit(&sst->stopping, memory_order_relaxed) &&
           owner_is_here(&sst->owner)) { /* not if an upcall forked, and returned in the child */
        members_step(sst->members, clock_after(nap));
        trigger_watch(sst);
    }
    return NULL;
}
