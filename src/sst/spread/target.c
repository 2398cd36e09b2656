/* target: the connections to one member: opened when we meet it, closed when it fails or leaves. */
#include <errno.h>

#include "sst/spread/spread_impl.h"
#include "transport/wake/wait.h"

#define NOT_FETCHED      UINT64_MAX            /* no row has this sequence */
#define FIRST_FETCH_NSEC (100 * 1000 * 1000LL) /* to catch a moment between two puts */

/* Maps the page of its bell, if possible; otherwise its handle is used. */
static int bell_way_open(struct share *share, struct row_target *target,
                         const struct introduction *from, int64_t deadline)
{
    target->wake = from->wake;
    int result = reach_open(share->service, &from->bell, deadline, &target->bell_reach);
    if (result)
        return result;
    void *page = reach_mapping(target->bell_reach);
    if (!page)
        return 0;
    if (reach_size(target->bell_reach) < share->bell.memory.size)
        return -EPROTO;
    ringer_open_on(&target->ringer,
                   page); /* the ringer owns nothing but this page: it ends with the reach */
    target->has_ringer = true;
    return 0;
}

static int way_open(struct share *share, struct seat *seat, const struct introduction *from,
                    int64_t deadline)
{
    struct row_target *target = &seat->target;
    int result = reach_open(share->service, &from->row, deadline, &target->reach);
    if (result)
        return result;
    if (reach_size(target->reach) < share->table->schema.row_size)
        return -EPROTO;
    target->mapped = reach_mapping(target->reach);
    if ((uintptr_t)target->mapped % SCHEMA_LINE)
        return -EPROTO;
    result = bell_way_open(share, target, from, deadline);
    return result || target->mapped ? result : courier_open(share, seat, &target->courier);
}

/* Adds the target and sends our whole row; later changes follow. */
static void way_begin(struct share *share, struct row_target *target)
{
    target->used = true;
    share_add(share, target);
    if (share->design == SST_READS) {
        target->fetched = NOT_FETCHED;
        return;
    }
    if (target->mapped)
        row_copy(target->mapped, share->own.row, &share->table->schema);
    else
        courier_send_all(target->courier);
}

/* Has our row arrived (SST_WRITES), or has the row of the member been fetched once (SST_READS)? A
 * mapped row also counts as ready when `patience` is over. With the put lock. */
static bool way_is_ready(struct share *share, struct row_target *target, nsec patience)
{
    if (target->courier) {
        courier_move(target->courier);
        return courier_has_begun(target->courier);
    }
    return share->design == SST_WRITES || share_fetch(share, target) ||
           target->fetched != NOT_FETCHED || clock_is_past(patience);
}

/* Waits until the member can be used like the others: its row must not be visible before it has the
 * member's values. */
static int way_flush(struct share *share, struct row_target *target, int64_t deadline)
{
    nsec patience = clock_after(FIRST_FETCH_NSEC);
    struct wait wait;
    wait_start(&wait, WAIT_SPIN_NSEC, WAIT_YIELD_NSEC);
    for (;;) {
        lock_take(&share->put_lock);
        bool ready = way_is_ready(share, target, patience);
        lock_drop(&share->put_lock);
        if (ready)
            return 0;
        if (reach_is_lost(target->reach))
            return -EPIPE;
        reach_progress(share->ripc);
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return -ETIMEDOUT;
        if (advice == WAIT_BLOCK)
            clock_nap(WAIT_YIELD_NSEC);
    }
}

/* Closes the connections but keeps the grants: the member may try again. */
static void ways_close(struct share *share, struct row_target *target)
{
    lock_take(&share->put_lock);
    if (target->used)
        share_remove(share, target);
    lock_drop(&share->put_lock);
    if (target->reach)
        reach_close(target->reach);
    if (target->courier)
        courier_close(target->courier);
    if (target->bell_reach)
        reach_close(target->bell_reach);
    *target = (struct row_target){
        .row = target->row,
        .member = target->member,
        .given = target->given,
    };
}

static int seat_grant(struct share *share, struct seat *seat, ripc_id member)
{
    struct introduction *given = &seat->target.given;
    size_t size = share->table->schema.row_size;
    int result =
        share->design == SST_READS
            ? ripc_grant(share->service, member, share->own.row, size, RIPC_READ, &given->row)
            : ripc_grant(share->service, member, seat->row, size, RIPC_WRITE, &given->row);
    if (result == 0)
        result = ripc_grant(share->service, member, share->bell.memory.base,
                            share->bell.memory.size, RIPC_READ | RIPC_WRITE, &given->bell);
    given->wake = share->bell.wake;
    given->barrier = row_load(share->own.row, ROW_BARRIER);
    return result;
}

int target_offer(struct share *share, uint32_t row, ripc_id member, struct introduction *out)
{
    struct seat *seat = &share->seats[row];
    target_close(share, row); /* of an earlier meeting that failed */
    int result = seat_prepare(share, seat, row);
    if (result == 0) {
        seat->target.row = row;
        seat->target.member = member;
        result = seat_grant(share, seat, member);
    }
    *out = seat->target.given;
    return result;
}

int target_open(struct share *share, uint32_t row, const struct introduction *from,
                int64_t deadline)
{
    struct seat *seat = &share->seats[row];
    int result = way_open(share, seat, from, deadline);
    if (result == 0) {
        lock_take(&share->put_lock);
        way_begin(share, &seat->target);
        lock_drop(&share->put_lock);
        result = way_flush(share, &seat->target, deadline);
    }
    if (result)
        ways_close(share, &seat->target);
    return result;
}

void target_close(struct share *share, uint32_t row)
{
    struct row_target *target = &share->seats[row].target;
    if (!target->member)
        return;
    ways_close(share, target);
    reach_void(share->service, &target->given.row);
    reach_void(share->service, &target->given.bell);
    *target = (struct row_target){0};
}

void target_freeze(struct share *share, uint32_t row)
{
    target_close(share, row);
    seat_freeze(share, &share->seats[row]);
}

void targets_close(struct share *share)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        target_close(share, row);
        seat_fini(share, &share->seats[row]);
    }
}
