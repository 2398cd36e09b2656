/* target: the ways to one member, opened when we meet it and closed when it fails or
 * leaves. */
#include <errno.h>

#include "sst/sst_impl.h"
#include "transport/wake/wait.h"

#define NOT_FETCHED      UINT64_MAX            /* no row has that sequence */
#define FIRST_FETCH_NSEC (100 * 1000 * 1000LL) /* for its owner to rest between two puts */

/* The page of its bell, where it can be mapped; elsewhere its handle must do. */
static int bell_open(struct sst *sst, struct target *target, const struct introduction *from,
                     int64_t deadline)
{
    target->wake = from->wake;
    int result =
        reach_open(members_service(sst->members), &from->bell, deadline, &target->bell_reach);
    if (result)
        return result;
    void *page = reach_mapping(target->bell_reach);
    if (!page)
        return 0;
    if (reach_size(target->bell_reach) < sst->bell_memory.size)
        return -EPROTO;
    ringer_open_on(&target->ringer, page);
    target->has_ringer = true;
    return 0;
}

static int way_open(struct sst *sst, struct seat *seat, const struct introduction *from,
                    int64_t deadline)
{
    struct target *target = &seat->target;
    int result = reach_open(members_service(sst->members), &from->row, deadline, &target->reach);
    if (result)
        return result;
    if (reach_size(target->reach) < sst->table.schema.row_size)
        return -EPROTO;
    target->mapped = reach_mapping(target->reach);
    if ((uintptr_t)target->mapped % SCHEMA_LINE)
        return -EPROTO;
    result = bell_open(sst, target, from, deadline);
    return result || target->mapped ? result : courier_open(sst, seat, &target->courier);
}

/* Our row as it is; what changes from now on follows. */
static void way_begin(struct sst *sst, struct target *target)
{
    target->used = true;
    share_add(&sst->share, target);
    if (sst->config.design == SST_READS) {
        target->fetched = NOT_FETCHED;
        return;
    }
    if (target->mapped)
        row_copy(target->mapped, sst->own.row, &sst->table.schema);
    else
        courier_send_all(target->courier);
}

/* What is carried has arrived, and what is fetched has been once. With the put lock. */
static bool way_is_ready(struct sst *sst, struct target *target, nsec patience)
{
    if (target->courier) {
        courier_move(target->courier);
        return courier_is_done(target->courier);
    }
    return sst->config.design == SST_WRITES || share_fetch(sst, target) ||
           target->fetched != NOT_FETCHED || clock_now() > patience;
}

/* Waits until it is a member like the others: nobody shall see its row without what it
 * holds. */
static int way_flush(struct sst *sst, struct target *target, int64_t deadline)
{
    nsec patience = clock_after(FIRST_FETCH_NSEC);
    struct wait wait;
    wait_start(&wait, WAIT_SPIN_NSEC, WAIT_YIELD_NSEC);
    for (;;) {
        lock_take(&sst->put_lock);
        bool ready = way_is_ready(sst, target, patience);
        lock_drop(&sst->put_lock);
        if (ready)
            return 0;
        if (reach_is_lost(target->reach))
            return -EPIPE;
        reach_progress(sst->ripc);
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return -ETIMEDOUT;
        if (advice == WAIT_BLOCK)
            clock_nap(WAIT_YIELD_NSEC);
    }
}

/* The ways to it, but not what it was granted: it may try again. */
static void ways_close(struct sst *sst, struct target *target)
{
    lock_take(&sst->put_lock);
    if (target->used)
        share_remove(&sst->share, target);
    lock_drop(&sst->put_lock);
    if (target->has_ringer)
        ringer_close(&target->ringer);
    if (target->reach)
        reach_close(target->reach);
    if (target->courier)
        courier_close(target->courier);
    if (target->bell_reach)
        reach_close(target->bell_reach);
    *target = (struct target){
        .row = target->row,
        .member = target->member,
        .given = target->given,
    };
}

int target_open(struct sst *sst, struct seat *seat, const struct introduction *from,
                int64_t deadline)
{
    int result = way_open(sst, seat, from, deadline);
    if (result == 0) {
        lock_take(&sst->put_lock);
        way_begin(sst, &seat->target);
        lock_drop(&sst->put_lock);
        result = way_flush(sst, &seat->target, deadline);
    }
    if (result)
        ways_close(sst, &seat->target);
    return result;
}

void target_close(struct sst *sst, struct seat *seat)
{
    struct target *target = &seat->target;
    if (!target->member)
        return;
    struct ripc_service *service = members_service(sst->members);
    ways_close(sst, target);
    reach_void(service, &target->given.row);
    reach_void(service, &target->given.bell);
    *target = (struct target){0};
}
