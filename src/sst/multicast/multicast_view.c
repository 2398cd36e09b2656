/* multicast_view: a change of the members of a multicast: the steps of a ballot, as columns of the
 * table. */
#include "sst/multicast/multicast_impl.h"

#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "sst/multicast/ballot.h"

struct poll {
    uint64_t epoch;
    uint32_t rows[SST_ROWS_MAX];
    uint32_t count, own;
    struct stand stands[SST_ROWS_MAX];
};

static struct stand stand_read(const struct sst *table, uint32_t row)
{
    struct stand stand;
    uint64_t vote[4];
    /* Read the promise first: everything that it makes final was put before it. */
    stand.promised = sst_get_u64(table, row, PROMISED);
    stand.joined = sst_get_u64(table, row, JOINED);
    stand.started = sst_get_u64(table, row, STARTED);
    stand.received = sst_get_u64(table, row, RECEIVED);
    /* A member that died during its vote has not voted; it will not be asked again. */
    if (sst_get(table, row, &(struct sst_range){.column = VOTE}, vote) < 0)
        memset(vote, 0, sizeof vote);
    stand.vote = (struct vote){vote[0], vote[1], vote[2], vote[3]};
    return stand;
}

/* Reads the stands of all members of the table's epoch. */
static void poll_take(const struct sst_multicast *multicast, struct poll *poll)
{
    const struct sst *table = multicast->table;
    poll->epoch = sst_epoch(table);
    poll->count = 0;
    poll->own = SST_ROWS_MAX;
    uint32_t row_count = sst_row_count(table);
    for (uint32_t row = 0; row < row_count; row++) {
        if (!sst_member(table, row))
            continue;
        if (row == sst_row_own(table))
            poll->own = poll->count;
        poll->rows[poll->count] = row;
        poll->stands[poll->count++] = stand_read(table, row);
    }
    assert(poll->own < poll->count); /* a view without us is never installed in our table */
}

static void phase_set(struct sst_multicast *multicast, enum phase phase)
{
    monitor_take(&multicast->lock);
    multicast->phase = phase;
    monitor_wake(&multicast->lock);
    monitor_drop(&multicast->lock);
}

static void view_promise(struct sst_multicast *multicast, const struct poll *poll)
{
    phase_set(multicast, PHASE_CHANGING);
    if (!poll->stands[poll->own].joined)
        sst_set_u64(multicast->table, JOINED, poll->epoch);
    sst_set_u64(multicast->table, PROMISED, poll->epoch);
}

static void view_vote(struct sst_multicast *multicast, const struct vote *vote)
{
    struct multicast_row *image = sst_own(multicast->table);
    image->vote[0] = vote->epoch;
    image->vote[1] = vote->closes;
    image->vote[2] = vote->cut;
    image->vote[3] = vote->base;
    sst_put(multicast->table, &(struct sst_range){.column = VOTE}, 1, NULL);
}

/* Carries out the decision: the view that ran, unless an earlier decision closed it, ends at the
 * cut. */
static void view_start(struct sst_multicast *multicast, const struct vote *vote)
{
    struct sst *table = multicast->table;
    if (multicast->is_open) {
        multicast_deliver(multicast, least_u64(vote->cut, multicast->received));
        struct order_origin first = order_cut(&multicast->order, multicast->own);
        monitor_take(&multicast->lock);
        multicast->start_slot = multicast->tail = first.slot;
        multicast->start += first.round;
        for (uint64_t slot = first.slot; slot < multicast->head; slot++)
            count(&multicast->counters.again,
                  multicast->heads[slot % multicast->slot_count].size != SLOT_PASSED);
        monitor_drop(&multicast->lock);
        multicast->is_open = false;
    }
    multicast->received = vote->base;
    sst_set_u64(table, RECEIVED, vote->base);
    sst_set_u64(table, START_SLOT, multicast->start_slot);
    sst_set_u64(table, START_ROUND, multicast->start);
    sst_set_u64(table, STARTED, vote->epoch);
}

/* Begins the view: all members have started. */
static void view_run(struct sst_multicast *multicast, const struct poll *poll)
{
    struct sst *table = multicast->table;
    uint64_t base = poll->stands[poll->own].vote.base;
    struct order *order = &multicast->order;
    order->base = base;
    order->sender_count = poll->count;
    for (uint32_t i = 0; i < poll->count; i++) {
        uint32_t row = poll->rows[i];
        multicast->starts[i] = sst_get_u64(table, row, START_ROUND);
        order->senders[i] = (struct order_sender){
            .slots = sst_cells(table, row, SLOTS),
            .row = row,
            .member = sst_member(table, row),
            .slot = sst_get_u64(table, row, START_SLOT),
        };
    }
    multicast->stable = base;
    multicast->is_open = true;
    monitor_take(&multicast->lock);
    multicast->epoch = poll->epoch;
    multicast->base = base;
    multicast->row_count = poll->count;
    multicast->own = poll->own;
    memcpy(multicast->rows, poll->rows, sizeof multicast->rows);
    slots_number(multicast, multicast->tail, multicast->head, 0);
    multicast->reached |= poll->count >= multicast->members_wanted;
    monitor_drop(&multicast->lock);
    count(&multicast->counters.views, 1);
    if (multicast->change) {
        struct sst_multicast_view view = {poll->epoch, base, poll->rows, poll->count};
        atomic_store_explicit(&multicast->calling, (uintptr_t)pthread_self(), memory_order_relaxed);
        multicast->change(multicast, &view, multicast->argument);
        multicast_calls(multicast, false);
    }
    phase_set(multicast, PHASE_RUNNING);
}

static enum ballot_move poll_next(const struct sst_multicast *multicast, const struct poll *poll,
                                  struct vote *vote)
{
    if (multicast->phase == PHASE_EXPELLED)
        return BALLOT_WAIT;
    enum ballot_move move = ballot_next(poll->stands, poll->count, poll->own, poll->epoch, vote);
    bool runs = multicast->phase == PHASE_RUNNING && multicast->epoch == poll->epoch;
    return move == BALLOT_RUN && runs ? BALLOT_WAIT : move;
}

bool multicast_view_moved(const struct sst *table, void *argument)
{
    struct poll poll;
    struct vote vote;
    poll_take(argument, &poll);
    return poll_next(argument, &poll, &vote) != BALLOT_WAIT;
}

void multicast_view_fire(struct sst *table, void *argument)
{
    struct sst_multicast *multicast = argument;
    struct poll poll;
    struct vote vote;
    for (;;) {
        poll_take(multicast, &poll);
        switch (poll_next(multicast, &poll, &vote)) {
        case BALLOT_WAIT:
            return;
        case BALLOT_PROMISE:
            view_promise(multicast, &poll);
            break;
        case BALLOT_VOTE:
            view_vote(multicast, &vote);
            break;
        case BALLOT_START:
            view_start(multicast, &poll.stands[poll.own].vote);
            break;
        case BALLOT_RUN:
            view_run(multicast, &poll);
            multicast_move(
                multicast); /* messages that were not delivered before are still in the slots */
            break;
        }
    }
}

void multicast_expelled(struct sst_multicast *multicast)
{
    phase_set(multicast, PHASE_EXPELLED);
}
