/* multicast: atomic multicast in a small group, on a table and its predicates.
 *
 * A sender fills slots of a ring in its row and puts them together with the guard `sent`, which
 * counts its turns. A member that sees the guard change copies the messages out of the slots, in
 * the one order that order.h makes of all rings, and publishes in `received` how far it got. A
 * message that all members have received is stable: it is delivered, and its slot is free.
 * Everything is done in batches: one put of `received` for all messages received, one callback for
 * all messages that became stable, one put for all messages sent. A member that sends less than
 * another passes its turns as soon as a member waits for them, so that a silent sender does not
 * block the others.
 *
 * Why all members deliver the same, whichever of them fail: the members of an epoch run one *view*.
 * In it a message is delivered only when every member of the view, dead or alive, has received it:
 * a frozen row stops counting in that minimum, and its slots become free, only with the next epoch,
 * which the failure causes. When the epoch changes, all survivors stop receiving and agree by
 * ballot (ballot.h) on the cut: the first number that one of them has not received. No member has
 * delivered anything from the cut on, because one member had not received it. All have everything
 * before the cut in their own memory, even if its sender is gone. So each delivers up to the cut
 * and nothing beyond, and all have delivered the same. Messages of a dead member that not all have
 * received are lost for all. Messages of the others are still in their slots, because those become
 * free by the same minimum: their senders begin the next view with them.
 *
 * Slots and messages are in multicast_messages.c; the change of views is in multicast_view.c. */
#include "sst/multicast/multicast_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ripc/core/context.h"

static const struct sst_column multicast_columns[] = {
    [SENT] = SST_COLUMN(struct multicast_row, sent, SST_U64, SST_GUARD | SST_GROWS),
    [RECEIVED] = SST_COLUMN(struct multicast_row, received, SST_U64, SST_GUARD | SST_GROWS),
    [JOINED] = SST_COLUMN(struct multicast_row, joined, SST_U64, SST_GROWS),
    [PROMISED] = SST_COLUMN(struct multicast_row, promised, SST_U64, SST_GROWS),
    [STARTED] = SST_COLUMN(struct multicast_row, started, SST_U64, SST_GROWS),
    [START_SLOT] = SST_COLUMN(struct multicast_row, start_slot, SST_U64, SST_GROWS),
    [START_ROUND] = SST_COLUMN(struct multicast_row, start_round, SST_U64, SST_GROWS),
    [VOTE] = SST_COLUMN(struct multicast_row, vote, SST_U64, 0),
    [SLOTS] = {"slots", SST_BYTES, 0, (uint32_t)offsetof(struct multicast_row, slots), 0},
};

static void news_take(struct sst *table, const struct sst_news *news, void *argument)
{
    struct sst_multicast *multicast = argument;
    bool ready = atomic_load_explicit(&multicast->ready, memory_order_relaxed);
    /* An epoch that comes before `ready` is not lost: the view predicate, which sst_multicast_open
     * adds before it sets `ready`, finds it. */
    if (ready && news->kind == SST_EPOCH)
        multicast_view_fire(table, multicast);
    if (news->kind == SST_EXPELLED)
        multicast_expelled(multicast);
    if (multicast->upcall)
        multicast->upcall(table, news, multicast->argument);
}

/* ---- waiting ---- */

/* With the lock, which is released during the wait. Returns 0 if something may have changed. */
static int multicast_wait(struct sst_multicast *multicast, int64_t deadline)
{
    if (deadline == RIPC_NOW)
        return -EAGAIN;
    if (atomic_load_explicit(&multicast->calling, memory_order_relaxed) ==
        (uintptr_t)pthread_self())
        return -EDEADLK;
    if (multicast->manual) {
        monitor_drop(&multicast->lock);
        int result = sst_step(multicast->table, deadline);
        monitor_take(&multicast->lock);
        if (result != -EBUSY)
            return result < 0 && result != -EAGAIN ? result : 0;
    }
    multicast->waiters++;
    int result = monitor_wait(&multicast->lock, deadline);
    multicast->waiters--;
    return result;
}

/* ---- calls ---- */

int sst_multicast_send_many(struct sst_multicast *multicast, const struct iovec *messages,
                            unsigned message_count, int64_t deadline)
{
    if (!owner_is_here(&multicast->owner))
        return -ECHILD;
    for (unsigned i = 0; i < message_count; i++)
        if (messages[i].iov_len > multicast->slot_size)
            return -EMSGSIZE;
    if (message_count > INT32_MAX)
        return -EINVAL;
    unsigned sent = 0;
    int result = 0;
    monitor_take(&multicast->lock);
    while (sent < message_count) {
        result = slots_send(multicast, messages + sent, message_count - sent);
        if (result < 0)
            break;
        sent += (unsigned)result;
        if (sent == message_count)
            break;
        count(&multicast->counters.waits, 1);
        result = multicast_wait(multicast, deadline);
        if (result < 0)
            break;
    }
    monitor_drop(&multicast->lock);
    return sent ? (int)sent : result;
}

int sst_multicast_send(struct sst_multicast *multicast, const void *data, size_t size,
                       int64_t deadline)
{
    if (!owner_is_here(&multicast->owner))
        return -ECHILD;
    struct iovec message = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    int result = sst_multicast_send_many(multicast, &message, 1, deadline);
    return result < 0 ? result : 0;
}

int sst_multicast_step(struct sst_multicast *multicast, int64_t deadline)
{
    if (!owner_is_here(&multicast->owner))
        return -ECHILD;
    return sst_step(multicast->table, deadline);
}

struct sst *sst_multicast_table(const struct sst_multicast *multicast)
{
    return multicast->table;
}

int sst_multicast_stats(struct sst_multicast *multicast, struct sst_multicast_stats *stats)
{
    if (!owner_is_here(&multicast->owner))
        return -ECHILD;
    const struct counters *counters = &multicast->counters;
    *stats = (struct sst_multicast_stats){
        .sent = atomic_load_explicit(&counters->sent, memory_order_relaxed),
        .sent_batches = atomic_load_explicit(&counters->sent_batches, memory_order_relaxed),
        .delivered = atomic_load_explicit(&counters->delivered, memory_order_relaxed),
        .delivered_batches =
            atomic_load_explicit(&counters->delivered_batches, memory_order_relaxed),
        .nulls = atomic_load_explicit(&counters->nulls, memory_order_relaxed),
        .waits = atomic_load_explicit(&counters->waits, memory_order_relaxed),
        .views = atomic_load_explicit(&counters->views, memory_order_relaxed),
        .sent_again = atomic_load_explicit(&counters->again, memory_order_relaxed),
    };
    return 0;
}

static void multicast_free(struct sst_multicast *multicast)
{
    order_fini(&multicast->order);
    free(multicast->last);
    free(multicast->heads);
    free(multicast);
}

static struct sst_multicast *multicast_make(const struct sst_multicast_config *config)
{
    struct sst_multicast *multicast = calloc(1, sizeof *multicast);
    if (!multicast)
        return NULL;
    multicast->deliver = config->deliver;
    multicast->change = config->change;
    multicast->upcall = config->upcall;
    multicast->argument = config->argument;
    multicast->slot_size = config->slot_size;
    multicast->slot_count = config->slot_count;
    multicast->stride = slot_stride(config->slot_size);
    multicast->members_wanted = config->members_wanted;
    multicast->manual = config->flags & SST_MANUAL;
    multicast->lock = (struct monitor)MONITOR_INIT;
    multicast->last = calloc(config->slot_count, sizeof *multicast->last);
    multicast->heads = calloc(config->slot_count, sizeof *multicast->heads);
    int result =
        order_init(&multicast->order, config->slot_size, config->slot_count, config->ring_count);
    if (multicast->last && multicast->heads && result == 0)
        return multicast;
    multicast_free(multicast);
    return NULL;
}

/* Fills in the defaults. Returns -EINVAL with a reason. */
static int config_check(struct sst_multicast_config *config)
{
    config->slot_size = config->slot_size ? config->slot_size : 64;
    config->slot_count = config->slot_count ? config->slot_count : 256;
    if (!config->ring_count && config->slot_count <= SST_SLOT_COUNT_MAX)
        config->ring_count = 4 * config->slot_count;
    config->members_wanted = config->members_wanted ? config->members_wanted : 1;
    config->deadline = config->deadline ? config->deadline : ripc_after(10000000000);
    const char *reason = NULL;
    if (!config->deliver)
        reason = "no callback is set for deliver";
    else if (config->slot_size > SST_SLOT_SIZE_MAX || config->slot_count > SST_SLOT_COUNT_MAX ||
             (uint64_t)slot_stride(config->slot_size) * config->slot_count > 1u << 29)
        reason = "the slots are too large or too many";
    else if (config->ring_count > 1u << 24)
        reason = "ring_count is too large";
    else if (config->flags & ~(uint32_t)SST_MANUAL)
        reason = "unknown flags";
    if (reason && config->reason)
        snprintf(config->reason, RIPC_REASON_MAX, "multicast: %s", reason);
    return reason ? -EINVAL : 0;
}

static int table_open(struct sst_multicast *multicast, struct ripc *ripc,
                      const struct sst_multicast_config *config)
{
    struct sst_column columns[COLUMNS];
    memcpy(columns, multicast_columns, sizeof columns);
    columns[SLOTS].count = multicast->slot_count * multicast->stride;
    struct sst_config table = {
        .table = config->table,
        .columns = columns,
        .column_count = COLUMNS,
        .row_size = (uint32_t)sizeof(struct multicast_row) + columns[SLOTS].count,
        .member = config->member,
        .flags =
            config->flags | SST_DROP, /* while a dead member is not dropped, nothing is delivered */
        .rows_max = config->rows_max,
        .rows_wanted = config->members_wanted,
        .deadline = config->deadline,
        .spin_nsec = config->spin_nsec,
        .yield_nsec = config->yield_nsec,
        .upcall = news_take,
        .argument = multicast,
        .reason = config->reason,
    };
    return sst_open(ripc, &table, &multicast->table);
}

static int predicates_start(struct sst_multicast *multicast)
{
    struct sst_predicate view = {
        .name = "multicast view",
        .kind = SST_RECURRENT,
        .holds = multicast_view_moved,
        .fire = multicast_view_fire,
        .argument = multicast,
        .columns = (uint32_t[]){PROMISED, STARTED, VOTE},
        .column_count = 3,
    };
    struct sst_predicate messages = {
        .name = "multicast messages",
        .kind = SST_RECURRENT,
        .holds = multicast_messages_moved,
        .fire = multicast_messages_fire,
        .argument = multicast,
        .columns = (uint32_t[]){SENT, RECEIVED},
        .column_count = 2,
    };
    int result = sst_predicate_add(multicast->table, &view, NULL);
    atomic_store_explicit(&multicast->ready, true, memory_order_relaxed);
    return result < 0 ? result : sst_predicate_add(multicast->table, &messages, NULL);
}

int sst_multicast_open(struct ripc *ripc, const struct sst_multicast_config *given,
                       struct sst_multicast **out)
{
    struct sst_multicast_config config = *given;
    int result = config_check(&config);
    if (result)
        return result;
    if (ripc && !context_is_ours(ripc))
        return -ECHILD;
    struct sst_multicast *multicast = multicast_make(&config);
    if (!multicast)
        return -ENOMEM;
    result = owner_make(&multicast->owner);
    if (result == 0)
        result = table_open(multicast, ripc, &config);
    if (result < 0)
        goto free;
    *out = multicast;
    result = predicates_start(multicast);
    monitor_take(&multicast->lock);
    while (result == 0 && !multicast->reached)
        result = multicast->phase == PHASE_EXPELLED ? -ESTALE
                                                    : multicast_wait(multicast, config.deadline);
    monitor_drop(&multicast->lock);
    if (result == 0)
        return 0;
    sst_close(multicast->table, ripc_after(1000000000));
    *out = NULL;
free:
    multicast_free(multicast);
    return result;
}

int sst_multicast_close(struct sst_multicast *multicast, int64_t deadline)
{
    if (!owner_is_here(&multicast->owner))
        return -ECHILD;
    int result = 0;
    monitor_take(&multicast->lock);
    for (;;) {
        bool all_free = multicast->phase == PHASE_RUNNING &&
                        slots_free(multicast, multicast->slot_count) == multicast->slot_count;
        if (all_free || multicast->phase == PHASE_EXPELLED)
            break;
        result = multicast_wait(multicast, deadline);
        if (result)
            break;
    }
    monitor_drop(&multicast->lock);
    if (result == -EDEADLK)
        return result;
    int closed = sst_close(multicast->table, deadline);
    multicast_free(multicast);
    if (result == -EAGAIN)
        result = -ETIMEDOUT;
    return result ? result : closed;
}
