/* membership: members join, leave and fail. Any thread that learns of a change adds an event for
 * the detector, which changes the table between two passes, so that no predicate ever sees half a
 * view. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/core/sst_impl.h"

#define EVENT_PAUSE_NSEC (100 * 1000LL) /* between two tries to allocate an event */

/* ---- by the keeper, or by any thread ---- */

static void event_tell(struct sst *sst, struct membership_event *event)
{
    monitor_take(&sst->events_lock);
    struct membership_event **end = &sst->events;
    while (*end)
        end = &(*end)->next;
    *end = event;
    atomic_store_explicit(&sst->events_wait, true, memory_order_relaxed);
    monitor_drop(&sst->events_lock);
    bell_ring(&sst->share.bell);
}

static struct membership_event *event_new(int kind, uint32_t row)
{
    struct membership_event *event;
    /* The event must not be lost, so wait for memory. */
    while (!(event = calloc(1, sizeof *event)))
        clock_nap(EVENT_PAUSE_NSEC);
    event->kind = kind;
    event->row = row;
    return event;
}

void membership_install(struct sst *sst, const struct view *view)
{
    struct membership_event *event = event_new(MEMBERSHIP_VIEW, 0);
    event->view = *view;
    event_tell(sst, event);
}

void membership_fail_member(struct sst *sst, uint32_t row, ripc_id member)
{
    struct membership_event *event = event_new(MEMBERSHIP_FAILED, row);
    event->member = member;
    event_tell(sst, event);
}

void membership_fail(struct sst *sst, uint32_t row)
{
    membership_fail_member(sst, row, 0);
}

void membership_expelled(struct sst *sst)
{
    event_tell(sst, event_new(MEMBERSHIP_EXPELLED, 0));
}

/* ---- by the detector ---- */

static void upcall(struct sst *sst, const struct sst_news *news)
{
    if (sst->config.upcall)
        sst->config.upcall(sst, news, sst->config.argument);
}

static void live_set(struct sst *sst, uint32_t row, bool live)
{
    _Atomic uint64_t *word = &sst->table.live[bitset_word(row)];
    uint64_t bits = atomic_load_explicit(word, memory_order_relaxed) & ~bitset_bit(row);
    atomic_store_explicit(word, live ? bits | bitset_bit(row) : bits, memory_order_release);
}

/* No process writes the row any more; it keeps its content. */
static void row_freeze(struct sst *sst, uint32_t row)
{
    struct view_member *member = &sst->view.rows[row];
    if (!member->id || sst->gone[row] || row == sst->table.own)
        return;
    sst->gone[row] = true;
    target_freeze(&sst->share, row);
    live_set(sst, row, false);
    predicates_rows_changed(&sst->predicates);
    counter_add(&sst->failures, 1);
    upcall(sst, &(struct sst_news){
                    .kind = SST_FAILED,
                    .row = row,
                    .member = member->id,
                    .epoch = sst->view.epoch,
                });
}

static uint8_t *row_memory(struct sst *sst, const struct view *view, uint32_t row)
{
    if (!view->rows[row].id)
        return sst->table.nothing;
    if (row == sst->table.own)
        return sst->share.own.row;
    return sst->share.seats[row].row;
}

/* If the row gets another member or none: reports the failure of the previous member, unless it
 * left, and closes the connections to it. Called while the table still shows the previous view. */
static void row_clear(struct sst *sst, const struct membership_event *event, uint32_t row)
{
    const struct view_member *before = &sst->view.rows[row];
    if (before->nonce == event->view.rows[row].nonce)
        return;
    if (!bitset_has(event->view.left, row))
        row_freeze(sst, row); /* other members learned of the failure before us */
    if (before->id && row != sst->table.own && !sst->gone[row])
        target_close(&sst->share, row);
}

static void row_install(struct sst *sst, const struct membership_event *event, uint32_t row)
{
    const struct view_member *member = &event->view.rows[row];
    if (sst->view.rows[row].nonce == member->nonce)
        return;
    sst->gone[row] = false;
    atomic_store_explicit(&sst->table.rows[row], row_memory(sst, &event->view, row),
                          memory_order_release);
    atomic_store_explicit(&sst->table.members[row], member->id, memory_order_release);
    live_set(sst, row, member->id != 0);
}

static void view_install(struct sst *sst, const struct membership_event *event)
{
    const struct view *view = &event->view;
    ripc_id self = ripc_service_id(sst->share.service);
    if (sst->view.epoch == 0)
        for (uint32_t row = 0; row < view->row_count; row++)
            if (view->rows[row].id == self)
                sst->table.own = row;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        row_clear(sst, event, row);
    uint64_t views = atomic_load_explicit(&sst->table.views, memory_order_relaxed);
    atomic_store_explicit(&sst->table.views, views + 1, ROW_STORE);
    row_fence_store();
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        row_install(sst, event, row);
    sst->view = *view;
    atomic_store_explicit(&sst->table.row_count, view->row_count, memory_order_release);
    atomic_store_explicit(&sst->table.epoch, view->epoch, memory_order_release);
    atomic_store_explicit(&sst->table.views, views + 2, memory_order_release);
    predicates_rows_changed(&sst->predicates);
    upcall(sst, &(struct sst_news){.kind = SST_EPOCH, .epoch = view->epoch});
}

static void table_expel(struct sst *sst)
{
    if (atomic_exchange_explicit(&sst->expelled, true, memory_order_relaxed))
        return;
    for (uint32_t row = 0; row < sst->view.row_count; row++)
        if (sst->view.rows[row].id && row != sst->table.own && !sst->gone[row]) {
            sst->gone[row] = true;
            target_freeze(&sst->share, row); /* the others may not know yet that we were expelled */
            live_set(sst, row, false);
        }
    predicates_rows_changed(&sst->predicates);
    upcall(sst, &(struct sst_news){.kind = SST_EXPELLED, .epoch = sst->view.epoch});
}

/* We were expelled: the table keeps showing what it showed then. The council may still install a
 * view that it had prepared before; what we put does not go to the new members of it. */
static void view_ignore(struct sst *sst, const struct membership_event *event)
{
    for (uint32_t row = 0; row < event->view.row_count; row++)
        if (event->view.rows[row].id && row != sst->table.own &&
            event->view.rows[row].nonce != sst->view.rows[row].nonce)
            target_close(&sst->share, row);
}

static struct membership_event *event_take(struct sst *sst)
{
    monitor_take(&sst->events_lock);
    struct membership_event *event = sst->events;
    if (event)
        sst->events = event->next;
    else
        atomic_store_explicit(&sst->events_wait, false, memory_order_release);
    monitor_drop(&sst->events_lock);
    return event;
}

int membership_take_over(struct sst *sst)
{
    int taken = 0;
    struct membership_event *event;
    while ((event = event_take(sst))) {
        bool expelled = atomic_load_explicit(&sst->expelled, memory_order_relaxed);
        switch (event->kind) {
        case MEMBERSHIP_VIEW:
            if (expelled)
                view_ignore(sst, event);
            else
                view_install(sst, event);
            break;
        case MEMBERSHIP_FAILED:
            if (!expelled && (!event->member || event->member == sst->view.rows[event->row].id))
                row_freeze(sst, event->row);
            break;
        case MEMBERSHIP_EXPELLED:
            table_expel(sst);
            break;
        }
        free(event);
        taken++;
    }
    return taken;
}

void membership_fini(struct sst *sst)
{
    struct membership_event *event;
    while ((event = event_take(sst)))
        free(event);
}
