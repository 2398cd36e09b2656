/* sst: opening and closing a table, and the calls that change it. Calls that only read are in
 * reading.c, calls that wait in waiting.c, the loop in detector.c. */
#include <weft/sst.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ripc/core/context.h"
#include "sst/core/sst_impl.h"
#include "sst/table/aggregate.h"
#include "transport/wake/wait.h"

#define ROWS_DEFAULT 64
#define OPEN_NSEC    (10 * NSEC_PER_SEC)
#define REFRESH_NSEC (1000 * 1000LL)
#define TRIGGER_NSEC NSEC_PER_SEC

/* ---- opening ---- */

static int config_check(const struct sst_config *config, struct why *why)
{
    if (config->table == 0)
        return why_fail(why, -EINVAL, "the name of a table must not be 0");
    if (config->design != SST_WRITES && config->design != SST_READS)
        return why_fail(why, -EINVAL, "design %d is neither SST_WRITES nor SST_READS",
                        (int)config->design);
    if (config->flags & ~(uint32_t)(SST_MANUAL | SST_DROP))
        return why_fail(why, -EINVAL, "flags 0x%x are unknown", config->flags);
    if (config->rows_max > SST_ROWS_MAX)
        return why_fail(why, -EINVAL, "rows_max is %u; the limit is %d", config->rows_max,
                        SST_ROWS_MAX);
    if (config->rows_wanted > (config->rows_max ? config->rows_max : ROWS_DEFAULT))
        return why_fail(why, -EINVAL, "rows_wanted is %u, but rows_max is %u", config->rows_wanted,
                        config->rows_max ? config->rows_max : ROWS_DEFAULT);
    return 0;
}

static void config_fill(struct sst_config *config)
{
    if (!config->rows_max)
        config->rows_max = ROWS_DEFAULT;
    if (!config->rows_wanted)
        config->rows_wanted = 1;
    if (!config->deadline)
        config->deadline = ripc_after(OPEN_NSEC);
    if (!config->spin_nsec)
        config->spin_nsec = WAIT_SPIN_NSEC;
    if (!config->yield_nsec)
        config->yield_nsec = WAIT_YIELD_NSEC;
    if (config->refresh_nsec <= 0)
        config->refresh_nsec = REFRESH_NSEC;
    if (config->trigger_nsec <= 0)
        config->trigger_nsec = TRIGGER_NSEC;
    config->columns = NULL; /* the schema has copies */
    config->reason = NULL;
}

/* Is there memory for all rows? It is better to fail now than when the last member joins. */
static int size_check(const struct sst *sst, struct why *why)
{
    size_t need = (size_t)sst->config.rows_max * sst->table.schema.row_size;
    size_t free_bytes = memfile_available();
    if (need <= free_bytes)
        return 0;
    return why_fail(why, -ENOMEM, "%u rows of %u bytes need %zu MiB, but only %zu MiB are free",
                    sst->config.rows_max, sst->table.schema.row_size, need >> 20, free_bytes >> 20);
}

static int memory_open(struct sst *sst, const struct schema *schema, struct why *why)
{
    int result = table_init(&sst->table, schema, sst->config.rows_max);
    if (result == 0)
        result = size_check(sst, why);
    if (result == 0)
        result = share_open(&sst->share, sst->ripc, &sst->table, sst->config.design);
    return result ? result : predicates_init(&sst->predicates, &sst->table);
}

static int members_begin(struct sst *sst)
{
    struct members_config config = {
        .table = sst,
        .meetings = &keeper_meetings,
        .schema = &sst->table.schema,
        .name = sst->config.table,
        .design = sst->config.design,
        .rows_max = sst->config.rows_max,
        .drop = sst->config.flags & SST_DROP,
    };
    int result = members_open(sst->ripc, sst->config.member, &config, &sst->members);
    if (result)
        return result;
    sst->share.service = members_service(sst->members);
    result = observer_serve(sst->share.service, &sst->table, sst->share.own.row, &sst->observers);
    if (result == 0) {
        members_on_observer(sst->members, observer_asked, sst->observers);
        members_on_gone(sst->members, observer_gone, sst->observers);
    }
    return result;
}

static bool enough_are_here(const struct sst *sst, void *argument)
{
    return sst_live_count(sst) >= sst->config.rows_wanted;
}

static int threads_start(struct sst *sst)
{
    if (sst->config.flags & SST_MANUAL)
        return 0;
    int result = thread_start(&sst->detector, "weft-sst", detector_run, sst);
    if (result == 0)
        result = thread_start(&sst->keeper, "weft-members", keeper_run, sst);
    return result;
}

static int table_begin(struct sst *sst, const struct schema *schema, struct why *why)
{
    int result = memory_open(sst, schema, why);
    if (result == 0)
        result = members_begin(sst);
    if (result == 0)
        result = members_join(sst->members, sst->config.deadline, why);
    if (result == 0) {
        detector_pass(sst); /* the first view */
        result = threads_start(sst);
    }
    if (result)
        return result;
    /* No column is needed: every change of the membership evaluates all predicates. */
    uint32_t none = PREDICATE_BARRIER;
    result = sst_wait(sst, enough_are_here, NULL, &none, 1, sst->config.deadline);
    if (result == -ETIMEDOUT || result == -EAGAIN)
        result = why_fail(why, -ETIMEDOUT, "only %u of %u members joined before the deadline",
                          sst_live_count(sst), sst->config.rows_wanted);
    return result;
}

/* Frees everything that was opened; no thread runs. */
static void table_end(struct sst *sst)
{
    if (sst->members) {
        targets_close(&sst->share);
        observer_unserve(sst->observers);
        members_close(sst->members);
    }
    membership_fini(sst);
    share_close(&sst->share);
    predicates_fini(&sst->predicates);
    table_fini(&sst->table);
    free(sst);
}

static void threads_stop(struct sst *sst)
{
    atomic_store_explicit(&sst->stopping, true, memory_order_relaxed);
    if (sst->members)
        members_wake(sst->members);
    if (sst->share.bell.memory.base)
        bell_ring(&sst->share.bell);
    thread_join(&sst->keeper);
    thread_join(&sst->detector);
}

static int table_open(struct ripc *ripc, const struct sst_config *config, struct sst **out,
                      struct why *why)
{
    struct schema *schema = malloc(sizeof *schema);
    struct sst *sst = calloc(1, sizeof *sst);
    int result = schema && sst ? config_check(config, why) : -ENOMEM;
    if (result == 0)
        result = schema_make(schema, config->columns, config->column_count, config->row_size, why);
    if (result) {
        free(sst);
        free(schema);
        return result;
    }
    sst->owner = ripc->owner;
    sst->ripc = ripc;
    sst->config = *config;
    config_fill(&sst->config);
    sst->events_lock = (struct monitor)MONITOR_INIT;
    result = table_begin(sst, schema, why);
    free(schema);
    if (result) {
        threads_stop(sst);
        if (sst->members)
            members_leave(sst->members, ripc_after(NSEC_PER_SEC));
        table_end(sst);
        return result;
    }
    *out = sst;
    return 0;
}

int sst_open(struct ripc *ripc, const struct sst_config *config, struct sst **out)
{
    struct why why = {""};
    if (!ripc || !config || !out)
        return -EINVAL;
    if (!context_is_ours(ripc))
        return -ECHILD;
    int result = table_open(ripc, config, out, &why);
    if (result == -ENOSPC && !why.text[0])
        why_set(&why, "cannot write a file in %s: %s", ripc_folder(ripc), ripc_strerror(result));
    if (result && config->reason)
        snprintf(config->reason, RIPC_REASON_MAX, "%s",
                 why.text[0] ? why.text : ripc_strerror(result));
    return result;
}

int sst_close(struct sst *sst, int64_t deadline)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    if (share_in_pass(&sst->share))
        return -EDEADLK;
    threads_stop(sst);
    int result = members_leave(sst->members, deadline);
    table_end(sst);
    return result;
}

/* ---- the own row ---- */

void *sst_own(struct sst *sst)
{
    return sst->share.own.image;
}

/* Counts a put and releases the put lock. Returns -ESTALE if we were expelled. */
static int put_end(struct sst *sst, int64_t bytes)
{
    if (bytes >= 0) {
        counter_add(&sst->puts, 1);
        counter_add(&sst->put_bytes, (uint64_t)bytes);
    }
    lock_drop(&sst->share.put_lock);
    if (bytes < 0)
        return (int)bytes;
    return atomic_load_explicit(&sst->expelled, memory_order_relaxed) ? -ESTALE : 0;
}

static const struct schema_column *number_column(const struct sst *sst, uint32_t column)
{
    if (column >= sst->table.schema.column_count)
        return NULL;
    const struct schema_column *of = &sst->table.schema.columns[column];
    return schema_is_number(of) ? of : NULL;
}

static int set(struct sst *sst, uint32_t column, uint64_t cell)
{
    lock_take(&sst->share.put_lock);
    int result = own_set(&sst->share.own, column, cell);
    return put_end(sst, result ? result : (int64_t)sizeof cell);
}

int sst_set_u64(struct sst *sst, uint32_t column, uint64_t value)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    uint64_t cell;
    const struct schema_column *of = number_column(sst, column);
    if (of && of->type == SST_U64)
        return set(sst, column, value); /* the usual type of counters and guards */
    int result = of ? schema_cell_u64(of, value, &cell) : -EINVAL;
    return result ? result : set(sst, column, cell);
}

int sst_set_i64(struct sst *sst, uint32_t column, int64_t value)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    uint64_t cell;
    const struct schema_column *of = number_column(sst, column);
    int result = of ? schema_cell_i64(of, value, &cell) : -EINVAL;
    return result ? result : set(sst, column, cell);
}

int sst_set_f64(struct sst *sst, uint32_t column, double value)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    uint64_t cell;
    const struct schema_column *of = number_column(sst, column);
    int result = of ? schema_cell_f64(of, value, &cell) : -EINVAL;
    return result ? result : set(sst, column, cell);
}

static int put(struct sst *sst, const struct sst_range *ranges, unsigned range_count,
               uint32_t guard, uint64_t guard_cell, const struct sst_rows *to)
{
    if (range_count && !ranges)
        return -EINVAL;
    if (to && !sst->share.spread.ops->to_some)
        return -EOPNOTSUPP;
    lock_take(&sst->share.put_lock);
    int64_t bytes = own_put(&sst->share.own, ranges, range_count, guard, guard_cell, to);
    return put_end(sst, bytes);
}

int sst_put(struct sst *sst, const struct sst_range *ranges, unsigned range_count,
            const struct sst_rows *to)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    return put(sst, ranges, range_count, OWN_NO_GUARD, 0, to);
}

int sst_publish(struct sst *sst, const struct sst_range *ranges, unsigned range_count,
                uint32_t guard, uint64_t value, const struct sst_rows *to)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    uint64_t cell;
    const struct schema_column *of = number_column(sst, guard);
    int result = of ? schema_cell_u64(of, value, &cell) : -EINVAL;
    return result ? result : put(sst, ranges, range_count, guard, cell, to);
}

/* ---- predicates ---- */

int sst_predicate_add(struct sst *sst, const struct sst_predicate *predicate, uint64_t *handle)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    for (uint32_t i = 0; predicate->columns && i < predicate->column_count; i++)
        if (predicate->columns[i] >= sst->table.schema.column_count)
            return -EINVAL;
    detector_enter(sst);
    int result = predicates_add(&sst->predicates, predicate, handle);
    detector_leave(sst);
    if (!share_in_pass(&sst->share))
        bell_ring(&sst->share.bell);
    return result;
}

int sst_trigger_add(struct sst *sst, uint64_t handle, sst_fire *fire, void *argument)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    detector_enter(sst);
    int result = predicates_trigger(&sst->predicates, handle, fire, argument);
    detector_leave(sst);
    return result;
}

int sst_predicate_remove(struct sst *sst, uint64_t handle)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    detector_enter(sst);
    int result = predicates_remove(&sst->predicates, handle);
    detector_leave(sst);
    return result;
}

/* ---- members ---- */

int sst_freeze(struct sst *sst, uint32_t row)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    ripc_id member = sst_member(sst, row);
    if (!member || row == sst_row_own(sst))
        return -EINVAL;
    membership_fail_member(sst, row, member);
    return 0;
}

/* ---- aggregates ---- */

#define SCAN_TRIES 10000 /* scans that overlap with fetches before we give up */
#define SCAN_SPINS 200   /* after so many, yield to the thread that copies a row */

/* A scan of many rows, which fetches may change meanwhile (sst_may_tear). */
struct scan {
    uint64_t taking;
    unsigned tries;
};

static uint64_t taking_now(const struct sst *sst)
{
    return atomic_load_explicit(&sst->share.taking, memory_order_acquire);
}

static struct scan scan_begin(const struct sst *sst)
{
    return (struct scan){.taking = taking_now(sst)};
}

/* Did the scan overlap with a fetch, so that it must be repeated? False also after too many
 * tries. */
static bool scan_again(const struct sst *sst, struct scan *scan)
{
    row_fence_load();
    uint64_t now = taking_now(sst);
    bool met = now != scan->taking || (now & 1);
    scan->taking = now;
    if (met && ++scan->tries > SCAN_SPINS)
        sched_yield();
    return met && scan->tries < SCAN_TRIES;
}

#define AGGREGATE(type, name)                                                                      \
    type sst_##name(const struct sst *sst, uint32_t column)                                        \
    {                                                                                              \
        type result;                                                                               \
        if (!sst_may_tear(sst)) /* nearly always true; then it costs no more than a call */        \
            return aggregate_##name(&sst->table, column);                                          \
        struct scan scan = scan_begin(sst);                                                        \
        do                                                                                         \
            result = aggregate_##name(&sst->table, column);                                        \
        while (scan_again(sst, &scan));                                                            \
        return result;                                                                             \
    }
#define AGGREGATE_WITH(type, name, value_type)                                                     \
    type sst_##name(const struct sst *sst, uint32_t column, value_type value)                      \
    {                                                                                              \
        type result;                                                                               \
        if (!sst_may_tear(sst))                                                                    \
            return aggregate_##name(&sst->table, column, value);                                   \
        struct scan scan = scan_begin(sst);                                                        \
        do                                                                                         \
            result = aggregate_##name(&sst->table, column, value);                                 \
        while (scan_again(sst, &scan));                                                            \
        return result;                                                                             \
    }

AGGREGATE(uint64_t, minimum_u64)
AGGREGATE(int64_t, minimum_i64)
AGGREGATE(double, minimum_f64)
AGGREGATE(uint64_t, maximum_u64)
AGGREGATE(int64_t, maximum_i64)
AGGREGATE(double, maximum_f64)
AGGREGATE(uint64_t, sum_u64)
AGGREGATE(int64_t, sum_i64)
AGGREGATE(double, sum_f64)
AGGREGATE_WITH(bool, all_at_least_u64, uint64_t)
AGGREGATE_WITH(bool, all_at_least_i64, int64_t)
AGGREGATE_WITH(bool, all_at_least_f64, double)
AGGREGATE_WITH(uint32_t, count_u64, uint64_t)
AGGREGATE_WITH(uint32_t, count_i64, int64_t)
AGGREGATE_WITH(uint32_t, count_f64, double)
AGGREGATE(bool, all_equal)

/* ---- looking inside ---- */

static uint64_t counted(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

int sst_stats(struct sst *sst, struct sst_stats *stats)
{
    if (!owner_is_here(&sst->owner))
        return -ECHILD;
    detector_enter(sst);
    *stats = (struct sst_stats){
        .passes = sst->predicates.passes,
        .evaluations = sst->predicates.evaluations,
        .fires = sst->predicates.fires,
        .puts = counted(&sst->puts),
        .put_bytes = counted(&sst->put_bytes),
        .fetches = counted(&sst->share.fetches),
        .retries = counted(&sst->table.retries),
        .blocks = counted(&sst->blocks),
        .wakes = counted(&sst->share.wakes),
        .failures = counted(&sst->failures),
        .refused = members_refused(sst->members),
        .strange = members_strange(sst->members) + observer_server_strange(sst->observers),
    };
    detector_leave(sst);
    return 0;
}
