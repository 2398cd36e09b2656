/* meeting: members come and go. The keeper prepares seats and tells the detector, which
 * changes the table between two passes, so that no predicate ever sees half a view. */
#include "sst/council/meeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sst/sst_impl.h"

/* Rows begin at different places of their pages: the same column of many rows would else
 * fall into the same few lines of the first cache. */
#define COLOUR_COUNT  16
#define COLOUR_SIZE   256
#define TIDINGS_NSEC  (1000 * 1000 * 1000LL) /* how long a newcomer waits for a trigger to end */
#define TIDINGS_PAUSE (100 * 1000LL)

/* ---- seats ---- */

static size_t seat_colour(uint32_t row)
{
    return row % COLOUR_COUNT * COLOUR_SIZE;
}

/* Memory for its row, all zeroes, that nobody has had before. */
static int seat_prepare(struct sst *sst, struct seat *seat, uint32_t row)
{
    size_t size = sst->table.schema.row_size;
    if (sst->config.design == SST_READS) {
        if (seat->copy) {
            /* Somebody may still read what the member before had put. */
            row_copy(seat->row, sst->table.nothing, &sst->table.schema);
            return 0;
        }
        seat->copy = aligned_alloc(SCHEMA_LINE, size + COLOUR_COUNT * COLOUR_SIZE);
        if (!seat->copy)
            return -ENOMEM;
        memset(seat->copy, 0, size + COLOUR_COUNT * COLOUR_SIZE);
        seat->row = seat->copy + seat_colour(row);
        return 0;
    }
    int result = seat->memory.base
                     ? own_file_renew(sst->ripc, &seat->memory, false)
                     : own_file_open(sst->ripc, size + COLOUR_COUNT * COLOUR_SIZE, &seat->memory);
    if (result == 0)
        seat->row = seat->memory.base + seat_colour(row);
    return result;
}

static int seat_grant(struct sst *sst, struct seat *seat, ripc_id member)
{
    struct ripc_service *service = members_service(sst->members);
    struct introduction *given = &seat->target.given;
    size_t size = sst->table.schema.row_size;
    int result = sst->config.design == SST_READS
                     ? ripc_grant(service, member, sst->own.row, size, RIPC_READ, &given->row)
                     : ripc_grant(service, member, seat->row, size, RIPC_WRITE, &given->row);
    if (result == 0)
        result = ripc_grant(service, member, sst->bell_memory.base, sst->bell_memory.size,
                            RIPC_READ | RIPC_WRITE, &given->bell);
    given->wake = sst->wake;
    given->barrier = row_load(sst->own.row, ROW_BARRIER);
    return result;
}

/* ---- called by the keeper ---- */

/* The seat may still be the one of a row that the detector shows: it takes over what it was
 * told first. */
static int tidings_wait_for(struct sst *sst)
{
    nsec deadline = clock_after(TIDINGS_NSEC);
    while (atomic_load_explicit(&sst->tidings_wait, memory_order_acquire)) {
        if (sst->config.flags & SST_MANUAL || !sst->detector.running)
            detector_pass(sst);
        else if (clock_now() > deadline)
            return -EBUSY;
        else
            clock_nap(TIDINGS_PAUSE);
    }
    return 0;
}

int meeting_offer(struct sst *sst, uint32_t row, ripc_id member, struct introduction *out)
{
    assert(row < sst->config.rows_max);
    int result = tidings_wait_for(sst);
    if (result)
        return result;
    struct seat *seat = &sst->seats[row];
    target_close(sst, seat); /* of a meeting that came to nothing */
    result = seat_prepare(sst, seat, row);
    if (result == 0) {
        seat->target.row = row;
        seat->target.member = member;
        result = seat_grant(sst, seat, member);
    }
    *out = seat->target.given;
    return result;
}

int meeting_accept(struct sst *sst, uint32_t row, ripc_id member, const struct introduction *from,
                   int64_t deadline)
{
    struct seat *seat = &sst->seats[row];
    assert(seat->target.member == member);
    lock_take(&sst->put_lock);
    if (sst_epoch(sst) == 0 && from->barrier > row_load(sst->own.row, ROW_BARRIER))
        own_set_head(&sst->own, ROW_BARRIER, from->barrier); /* we stand where the others stand */
    lock_drop(&sst->put_lock);
    return target_open(sst, seat, from, deadline);
}

void meeting_part(struct sst *sst, uint32_t row)
{
    target_close(sst, &sst->seats[row]);
}

static void tiding_tell(struct sst *sst, struct tiding *tiding)
{
    pthread_mutex_lock(&sst->tidings_lock);
    struct tiding **end = &sst->tidings;
    while (*end)
        end = &(*end)->next;
    *end = tiding;
    atomic_store_explicit(&sst->tidings_wait, true, memory_order_release);
    pthread_mutex_unlock(&sst->tidings_lock);
    detector_wake(sst);
}

static struct tiding *tiding_new(int kind, uint32_t row)
{
    struct tiding *tiding;
    while (!(tiding = calloc(1, sizeof *tiding)))
        clock_nap(TIDINGS_PAUSE); /* it must be told: there will be memory again, or no program */
    tiding->kind = kind;
    tiding->row = row;
    return tiding;
}

void meeting_install(struct sst *sst, const struct view *view)
{
    struct tiding *tiding = tiding_new(TIDING_VIEW, 0);
    tiding->view = *view;
    tiding_tell(sst, tiding);
}

void meeting_fail_member(struct sst *sst, uint32_t row, ripc_id member)
{
    struct tiding *tiding = tiding_new(TIDING_FAILED, row);
    tiding->member = member;
    tiding_tell(sst, tiding);
}

void meeting_fail(struct sst *sst, uint32_t row)
{
    meeting_fail_member(sst, row, 0);
}

void meeting_expelled(struct sst *sst)
{
    tiding_tell(sst, tiding_new(TIDING_EXPELLED, 0));
}

/* ---- done by the detector ---- */

static void upcall(struct sst *sst, const struct sst_news *news)
{
    if (sst->config.upcall)
        sst->config.upcall(sst, news, sst->config.argument);
}

static void live_set(struct sst *sst, uint32_t row, bool live)
{
    _Atomic uint64_t *word = &sst->table.live[row / 64];
    uint64_t bits = atomic_load_explicit(word, memory_order_relaxed) & ~(1ULL << row % 64);
    atomic_store_explicit(word, bits | (uint64_t)live << row % 64, memory_order_release);
}

/* Nobody writes it any more, and it stays as it is. */
static void row_freeze(struct sst *sst, uint32_t row)
{
    struct seat *seat = &sst->seats[row];
    struct view_member *member = &sst->view.rows[row];
    if (!member->id || sst->gone[row] || row == sst->table.own)
        return;
    sst->gone[row] = true;
    target_close(sst, seat);
    /* If there is no memory for that its owner could write on; it is dead, mostly. */
    if (seat->memory.base)
        (void)!own_file_renew(sst->ripc, &seat->memory, true);
    live_set(sst, row, false);
    predicates_rows_changed(&sst->predicates);
    count(&sst->failures, 1);
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
        return sst->own.row;
    return sst->seats[row].row;
}

/* What must be done and told while the view before still stands, whole. */
static void row_clear(struct sst *sst, const struct tiding *tiding, uint32_t row)
{
    const struct view_member *before = &sst->view.rows[row];
    if (before->nonce == tiding->view.rows[row].nonce)
        return;
    if (!(tiding->view.left[row / 64] >> row % 64 & 1))
        row_freeze(sst, row); /* the others heard of it first */
    if (before->id && row != sst->table.own && !sst->gone[row])
        target_close(sst, &sst->seats[row]);
}

static void row_install(struct sst *sst, const struct tiding *tiding, uint32_t row)
{
    const struct view_member *member = &tiding->view.rows[row];
    if (sst->view.rows[row].nonce == member->nonce)
        return;
    sst->gone[row] = false;
    atomic_store_explicit(&sst->table.rows[row], row_memory(sst, &tiding->view, row),
                          memory_order_release);
    atomic_store_explicit(&sst->table.members[row], member->id, memory_order_release);
    live_set(sst, row, member->id != 0);
}

static void view_install(struct sst *sst, const struct tiding *tiding)
{
    const struct view *view = &tiding->view;
    ripc_id self = ripc_service_id(members_service(sst->members));
    if (sst->view.epoch == 0)
        for (uint32_t row = 0; row < view->row_count; row++)
            if (view->rows[row].id == self)
                sst->table.own = row;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        row_clear(sst, tiding, row);
    uint64_t views = atomic_load_explicit(&sst->table.views, memory_order_relaxed);
    atomic_store_explicit(&sst->table.views, views + 1, ROW_STORE);
    row_fence_store();
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        row_install(sst, tiding, row);
    sst->view = *view;
    atomic_store_explicit(&sst->table.row_count, view->row_count, memory_order_release);
    atomic_store_explicit(&sst->table.epoch, view->epoch, memory_order_release);
    atomic_store_explicit(&sst->table.views, views + 2, memory_order_release);
    predicates_rows_changed(&sst->predicates);
    upcall(sst, &(struct sst_news){.kind = SST_EPOCH, .epoch = view->epoch});
}

static void table_expel(struct sst *sst)
{
    if (atomic_exchange_explicit(&sst->expelled, true, memory_order_acq_rel))
        return;
    for (uint32_t row = 0; row < sst->view.row_count; row++)
        if (sst->view.rows[row].id && row != sst->table.own && !sst->gone[row]) {
            sst->gone[row] = true;
            live_set(sst, row, false);
            target_close(sst, &sst->seats[row]);
        }
    predicates_rows_changed(&sst->predicates);
    upcall(sst, &(struct sst_news){.kind = SST_EXPELLED, .epoch = sst->view.epoch});
}

static struct tiding *tiding_take(struct sst *sst)
{
    pthread_mutex_lock(&sst->tidings_lock);
    struct tiding *tiding = sst->tidings;
    if (tiding)
        sst->tidings = tiding->next;
    else
        atomic_store_explicit(&sst->tidings_wait, false, memory_order_release);
    pthread_mutex_unlock(&sst->tidings_lock);
    return tiding;
}

int meeting_take_over(struct sst *sst)
{
    int taken = 0;
    struct tiding *tiding;
    while ((tiding = tiding_take(sst))) {
        switch (tiding->kind) {
        case TIDING_VIEW:
            view_install(sst, tiding);
            break;
        case TIDING_FAILED:
            if (!tiding->member || tiding->member == sst->view.rows[tiding->row].id)
                row_freeze(sst, tiding->row);
            break;
        case TIDING_EXPELLED:
            table_expel(sst);
            break;
        }
        free(tiding);
        taken++;
    }
    return taken;
}

void meeting_fini(struct sst *sst)
{
    struct tiding *tiding;
    while ((tiding = tiding_take(sst)))
        free(tiding);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        struct seat *seat = &sst->seats[row];
        target_close(sst, seat);
        if (seat->memory.base)
            own_file_close(sst->ripc, &seat->memory);
        free(seat->copy);
    }
}
