/* share: both designs over memory that members share, and the list of members that take part. If
 * the memory of a member is mapped, a put is a few stores; otherwise a courier carries it
 * (courier.c). */
#include "sst/spread/share.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bitset.h"
#include "sst/spread/spread_impl.h"

static inline bool rows_has(const struct sst_rows *rows, uint32_t row)
{
    return !rows || bitset_has(rows->bits, row);
}

/* ---- the list of targets ---- */

static void list_put(struct row_target **list, uint32_t *length, struct row_target *target)
{
    assert(*length < SST_ROWS_MAX);
    list[(*length)++] = target;
}

static bool list_drop(struct row_target **list, uint32_t *length, const struct row_target *target)
{
    for (uint32_t i = 0; i < *length; i++)
        if (list[i] == target) {
            list[i] = list[--*length];
            return true;
        }
    return false;
}

static void carried_count(struct share *share)
{
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < share->carried_count; i++)
        unseen += !reach_is_polled(share->carried[i]->reach);
    atomic_store_explicit(&share->unseen, unseen, memory_order_relaxed);
    atomic_store_explicit(&share->carries, share->carried_count, memory_order_relaxed);
}

void share_add(struct share *share, struct row_target *target)
{
    if (target->mapped)
        list_put(share->mapped, &share->mapped_count, target);
    else
        list_put(share->carried, &share->carried_count, target);
    carried_count(share);
}

void share_remove(struct share *share, struct row_target *target)
{
    if (!list_drop(share->mapped, &share->mapped_count, target))
        list_drop(share->carried, &share->carried_count, target);
    carried_count(share);
}

/* Wakes the members (those in the set, or all) that sleep, and our own detector, after a put. With
 * the put lock. */
static void share_ring(struct share *share, const struct sst_rows *to)
{
    for (uint32_t i = 0; i < share->mapped_count; i++)
        if (rows_has(to, share->mapped[i]->row) && share->mapped[i]->has_ringer &&
            ringer_ring(&share->mapped[i]->ringer))
            counter_add(&share->wakes, 1);
    if (!share_in_pass(share))
        bell_ring(&share->bell);
}

static bool write_is_flushed(struct row_spread *spread, uint64_t sequence)
{
    struct share *share = (struct share *)spread;
    for (uint32_t i = 0; i < share->carried_count; i++)
        if (!courier_is_done(share->carried[i]->courier, sequence))
            return false;
    return true;
}

static int carried_move(struct share *share)
{
    int moved = 0;
    for (uint32_t i = 0; i < share->carried_count; i++)
        moved += courier_move(share->carried[i]->courier);
    return moved;
}

/* ---- SST_WRITES ---- */

static void write_set(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                      const struct sst_rows *to)
{
    struct share *share = (struct share *)spread;
    row_fence_store();
    for (uint32_t i = 0; i < share->mapped_count; i++)
        if (rows_has(to, share->mapped[i]->row))
            row_store(share->mapped[i]->mapped, cell, word);
    row_fence_store();
    for (uint32_t i = 0; i < share->mapped_count; i++)
        if (rows_has(to, share->mapped[i]->row))
            row_store(share->mapped[i]->mapped, ROW_SEQUENCE, sequence);
    for (uint32_t i = 0; i < share->carried_count; i++)
        if (rows_has(to, share->carried[i]->row))
            courier_set(share->carried[i]->courier, cell, word, sequence);
    share_ring(share, to);
}

static void write_change(struct row_spread *spread, const struct change *change,
                         const struct sst_rows *to)
{
    struct share *share = (struct share *)spread;
    const uint8_t *row = share->own.row;
    for (uint32_t i = 0; i < share->mapped_count; i++)
        if (rows_has(to, share->mapped[i]->row))
            row_change(share->mapped[i]->mapped, row, change);
    for (uint32_t i = 0; i < share->carried_count; i++)
        if (rows_has(to, share->carried[i]->row))
            courier_change(share->carried[i]->courier, change);
    share_ring(share, to);
}

static int write_move(struct row_spread *spread)
{
    return carried_move((struct share *)spread);
}

static const struct row_spread_ops write_ops = {
    .name = "write",
    .set = write_set,
    .change = write_change,
    .move = write_move,
    .is_flushed = write_is_flushed,
    .to_some = true,
};

/* ---- SST_READS ---- */

static void read_set(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                     const struct sst_rows *to)
{
    share_ring((struct share *)spread, to);
}

static void read_change(struct row_spread *spread, const struct change *change,
                        const struct sst_rows *to)
{
    share_ring((struct share *)spread, to);
}

static_assert(offsetof(struct seat, target) == 0, "share_fetch converts a target to its seat");

int share_fetch(struct share *share, struct row_target *target)
{
    const struct schema *schema = &share->table->schema;
    /* Fetches the first words while the sequence is being loaded. */
    __builtin_prefetch(target->mapped + sizeof(struct row_head));
    if (row_load(target->mapped, ROW_SEQUENCE) == target->fetched)
        return 0;
    if (!row_read(target->mapped, ROW_SEQUENCE, 0, schema->row_size, share->scratch)) {
        atomic_fetch_add_explicit(&share->table->retries, 1, memory_order_relaxed);
        return 0;
    }
    seat_take(share, (struct seat *)target, share->scratch);
    target->fetched = row_load(share->scratch, ROW_SEQUENCE);
    return 1;
}

static int read_move(struct row_spread *spread)
{
    struct share *share = (struct share *)spread;
    int moved = carried_move(share);
    for (uint32_t i = 0; i < share->mapped_count; i++)
        moved += share_fetch(share, share->mapped[i]);
    return moved;
}

/* What was put is in the own row, from which the others fetch it. */
static bool read_is_flushed(struct row_spread *spread, uint64_t sequence)
{
    return true;
}

static const struct row_spread_ops read_ops = {
    .name = "read",
    .set = read_set,
    .change = read_change,
    .move = read_move,
    .is_flushed = read_is_flushed,
};

/* ---- both ---- */

/* A member in the middle of a put rings our bell when it is done, so it is not due. */
static bool target_is_due(const struct row_target *target)
{
    uint64_t sequence = row_load(target->mapped, ROW_SEQUENCE);
    return sequence != target->fetched && !(sequence & 1);
}

bool share_is_due(struct share *share)
{
    bool due = false;
    bool reads = share->design == SST_READS;
    lock_take(&share->put_lock);
    for (uint32_t i = 0; reads && i < share->mapped_count; i++)
        due = due || target_is_due(share->mapped[i]);
    for (uint32_t i = 0; !reads && i < share->carried_count; i++)
        due = due || courier_is_due(share->carried[i]->courier);
    lock_drop(&share->put_lock);
    return due;
}

uint64_t share_last_put(struct share *share)
{
    lock_take(&share->put_lock);
    uint64_t sequence = share->own.sequence;
    lock_drop(&share->put_lock);
    return sequence;
}

bool share_flush(struct share *share, uint64_t sequence)
{
    struct row_spread *spread = &share->spread;
    lock_take(&share->put_lock);
    bool flushed = spread->ops->is_flushed(spread, sequence);
    if (!flushed) {
        spread->ops->move(spread);
        flushed = spread->ops->is_flushed(spread, sequence);
    }
    lock_drop(&share->put_lock);
    return flushed;
}

/* ---- opening ---- */

int share_open(struct share *share, struct ripc *ripc, struct table *table, enum sst_design design)
{
    const struct schema *schema = &table->schema;
    share->spread.ops = design == SST_READS ? &read_ops : &write_ops;
    share->ripc = ripc;
    share->table = table;
    share->design = design;
    int result = own_file_open(ripc, schema->row_size, &share->own_memory);
    if (result == 0)
        result = own_init(&share->own, schema, share->own_memory.base, &share->spread);
    if (result)
        return result;
    share->scratch = aligned_alloc(SCHEMA_LINE, schema->row_size);
    return share->scratch ? bell_open(&share->bell, ripc) : -ENOMEM;
}

void share_close(struct share *share)
{
    bell_close(&share->bell, share->ripc);
    if (share->own_memory.base)
        own_file_close(share->ripc, &share->own_memory);
    own_fini(&share->own);
    free(share->scratch);
}
