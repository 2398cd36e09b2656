/* Threads of one process use one table in every way at once: they read it as a whole and in parts,
 * take snapshots, compute aggregates, put and publish, add and remove predicates and wait for them,
 * while the other members write their rows and one of them joins and leaves. What is read must be
 * as one put left it, aggregates must be consistent, and a removed predicate must never be called
 * again.
 *
 *   sst_stress_test [SEED [SECONDS]]     that long for each design */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/sst.h>

#include "base/rng.h"
#include "process.h"

#define TABLE     9
#define STAYING   2 /* members that stay; one more joins and leaves */
#define WORDS     60
#define SECOND    1000000000LL
#define PATIENCE  (30 * SECOND)
#define THREADS   16
#define VISITOR   (STAYING + 1)
#define CHURN_MAX 8 /* predicates of one thread */

/* Ends the program with a line that gives the reason. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                              \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

/* One put derives step, debt and all words from the same number; ready follows. lone is set on its
 * own, by several threads. */
struct row {
    uint64_t step;
    int64_t debt;
    uint64_t words[WORDS];
    uint64_t ready;
    uint64_t lone;
    double half;
};

enum { STEP, DEBT, BLOCK, READY, LONE, HALF, COLUMNS };

static const struct sst_column columns[COLUMNS] = {
    [STEP] = SST_COLUMN(struct row, step, SST_U64, SST_GROWS),
    [DEBT] = SST_COLUMN(struct row, debt, SST_I64, 0),
    [BLOCK] = SST_COLUMN(struct row, words, SST_U64, 0),
    [READY] = SST_COLUMN(struct row, ready, SST_U64, SST_GUARD),
    [LONE] = SST_COLUMN(struct row, lone, SST_U64, 0),
    [HALF] = SST_COLUMN(struct row, half, SST_F64, 0),
};

static struct {
    enum sst_design design;
    struct ripc *ripc[STAYING];
    struct sst *tables[STAYING];
    _Atomic bool stopping;   /* set by main, relaxed: the threads check it often */
    _Atomic uint64_t counts; /* actions of all threads together */
    _Atomic uint64_t fires;
    _Atomic uint64_t whole;          /* reads that did not overlap with a put */
    _Atomic uint64_t failures;       /* counted by upcalls */
    pthread_mutex_t images[STAYING]; /* the program must protect the image itself */
} all = {.images = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};

struct worker {
    pthread_t thread;
    struct rng rng;
    struct sst *table;
    unsigned member;
    void (*act)(struct worker *);
    uint64_t seen; /* state of the action */
    uint64_t last[SST_ROWS_MAX];
};

static struct sst *table_join(struct ripc *ripc, unsigned member, unsigned wanted);

/* ---- reading ---- */

/* Members that put without a pause may delay readers, but not for ever. */
static bool is_whole(int result)
{
    demand(result == 0 || result == -EAGAIN);
    if (result == 0)
        atomic_fetch_add_explicit(&all.whole, 1, memory_order_relaxed);
    return result == 0;
}

static void row_check(const struct row *row)
{
    demand(row->debt == -(int64_t)row->step);
    for (unsigned i = 0; i < WORDS; i++)
        demand(row->words[i] == row->step + i || row->step == 0);
    demand(row->half == (double)row->step / 2);
}

static bool row_equal(const struct row *one, const struct row *other)
{
    return one->step == other->step && one->debt == other->debt && one->ready == other->ready &&
           one->lone == other->lone && one->half == other->half &&
           memcmp(one->words, other->words, sizeof one->words) == 0;
}

static uint32_t any_row(struct worker *worker)
{
    return (uint32_t)rng_below(&worker->rng, STAYING + 1);
}

/* The data must be there when its guard is, and complete. */
static void read_parts(struct worker *worker)
{
    uint64_t words[WORDS];
    uint32_t at = any_row(worker);
    ripc_id member = sst_member(worker->table, at);
    uint64_t ready = sst_get_u64(worker->table, at, READY);
    uint64_t step = sst_get_u64(worker->table, at, STEP);
    int result = sst_get(worker->table, at, &(struct sst_range){.column = BLOCK}, words);
    if (member > STAYING || member != sst_member(worker->table, at))
        return; /* the row got another member */
    if (!is_whole(result))
        return;
    for (unsigned i = 1; i < WORDS; i++)
        demand(words[i] == words[0] + i || words[0] == 0);
    demand(step >= ready && words[0] >= ready);
    demand(member == 0 || ready >= worker->last[member]);
    worker->last[member] = ready;
}

static void read_rows(struct worker *worker)
{
    struct row row;
    uint32_t at = any_row(worker);
    ripc_id member = sst_member(worker->table, at);
    int result = sst_row(worker->table, at, &row);
    if (member > STAYING || member != sst_member(worker->table, at))
        return;
    if (is_whole(result))
        row_check(&row);
}

static void take_snapshots(struct worker *worker)
{
    struct sst_snapshot *snapshot;
    int result = sst_snapshot_take(worker->table, &snapshot);
    if (!is_whole(result == 1 ? 0 : result))
        return;
    demand(sst_snapshot_epoch(snapshot) >= worker->seen);
    worker->seen = sst_snapshot_epoch(snapshot);
    unsigned live = 0;
    for (uint32_t i = 0; i <= STAYING; i++) {
        live += sst_snapshot_is_live(snapshot, i);
        if (sst_snapshot_is_live(snapshot, i))
            row_check(sst_snapshot_row(snapshot, i));
    }
    demand(live >= STAYING && live <= STAYING + 1);
    sst_snapshot_free(snapshot);
}

static void aggregate(struct worker *worker)
{
    struct sst *table = worker->table;
    uint64_t least = sst_minimum_u64(table, STEP);
    uint64_t most = sst_maximum_u64(table, STEP);
    demand(most >= least);
    demand(sst_maximum_u64(table, STEP) >= most); /* a column that only grows */
    demand(most >= worker->seen);
    worker->seen = most;
    demand(sst_count_u64(table, STEP, 0) >= STAYING);
    demand(sst_all_at_least_u64(table, STEP, 0));
    demand(sst_minimum_i64(table, DEBT) <= 0);
    demand(sst_sum_u64(table, STEP) >= most);
    demand(sst_sum_f64(table, HALF) >= 0);
    (void)sst_all_equal(table, LONE);
    demand(sst_live_count(table) >= STAYING && sst_row_count(table) <= STAYING + 1);
}

/* ---- writing ---- */

static void put(struct worker *worker)
{
    static const struct sst_range parts[] = {
        {STEP, 0, 0}, {DEBT, 0, 0}, {BLOCK, 0, 0}, {HALF, 0, 0}};
    pthread_mutex_t *image = &all.images[worker->member - 1];
    pthread_mutex_lock(image);
    struct row *own = sst_own(worker->table);
    own->step++;
    own->debt = -(int64_t)own->step;
    own->half = (double)own->step / 2;
    for (unsigned i = 0; i < WORDS; i++)
        own->words[i] = own->step + i;
    if (rng_below(&worker->rng, 2))
        demand(sst_publish(worker->table, parts, 4, READY, own->step, NULL) == 0);
    else
        demand(sst_put(worker->table, parts, 4, NULL) == 0);
    pthread_mutex_unlock(image);
}

static void set(struct worker *worker)
{
    demand(sst_set_u64(worker->table, LONE, rng_next(&worker->rng)) == 0);
    if (rng_below(&worker->rng, 64) == 0)
        demand(sst_flush(worker->table, ripc_after(PATIENCE)) == 0);
}

/* ---- predicates ---- */

struct churned {
    struct sst *table;
    uint64_t handle;
    _Atomic bool removed; /* stored with release after the removing call returned */
    enum sst_kind kind;
    _Atomic unsigned fires;
    unsigned twin_fires; /* of its second trigger; only used where triggers run */
};

static bool lone_is_odd(const struct sst *table, void *argument)
{
    struct churned *churned = argument;
    demand(!atomic_load_explicit(&churned->removed, memory_order_acquire));
    return sst_get_u64(table, sst_row_own(table), LONE) % 2;
}

static void churned_fire(struct sst *table, void *argument)
{
    struct churned *churned = argument;
    demand(!atomic_load_explicit(&churned->removed, memory_order_acquire));
    unsigned fires = atomic_fetch_add_explicit(&churned->fires, 1, memory_order_relaxed);
    demand(churned->kind != SST_ONCE || fires == 0);
    atomic_fetch_add_explicit(&all.fires, 1, memory_order_relaxed);
    demand(sst_set_u64(table, LONE, sst_get_u64(table, sst_row_own(table), LONE) + 3) == 0);
}

static void churned_twin(struct sst *table, void *argument)
{
    struct churned *churned = argument;
    demand(!atomic_load_explicit(&churned->removed, memory_order_acquire));
    demand(++churned->twin_fires <= atomic_load_explicit(&churned->fires, memory_order_relaxed));
}

static void churn(struct worker *worker)
{
    static const uint32_t names[] = {LONE, STEP};
    struct churned churned[CHURN_MAX] = {0};
    for (unsigned i = 0; i < CHURN_MAX; i++) {
        churned[i].kind = (enum sst_kind)(SST_ONCE + rng_below(&worker->rng, 3));
        struct sst_predicate predicate = {
            .name = "churned",
            .kind = churned[i].kind,
            .holds = lone_is_odd,
            .fire = churned_fire,
            .argument = &churned[i],
            .columns = names,
            .column_count = 1 + (uint32_t)rng_below(&worker->rng, 2),
        };
        demand(sst_predicate_add(worker->table, &predicate, &churned[i].handle) == 0);
        int added = sst_trigger_add(worker->table, churned[i].handle, churned_twin, &churned[i]);
        demand(added == 0 || (added == -ENOENT && churned[i].kind == SST_ONCE));
    }
    set(worker);
    for (unsigned i = 0; i < CHURN_MAX; i++) {
        int removed = sst_predicate_remove(worker->table, churned[i].handle);
        demand(removed == 0 || (removed == -ENOENT && churned[i].kind == SST_ONCE));
        atomic_store_explicit(&churned[i].removed, true, memory_order_release);
        demand(sst_predicate_remove(worker->table, churned[i].handle) == -ENOENT);
    }
}

static bool others_have_come(const struct sst *table, void *argument)
{
    return sst_minimum_u64(table, STEP) >= *(uint64_t *)argument ||
           atomic_load_explicit(&all.stopping, memory_order_relaxed);
}

/* The visitor's row may be new and its step low, so a timeout is accepted. */
static void wait_for_others(struct worker *worker)
{
    static const uint32_t names[] = {STEP};
    uint64_t goal = sst_minimum_u64(worker->table, STEP) + 1;
    int result =
        sst_wait(worker->table, others_have_come, &goal, names, 1, ripc_after(SECOND / 100));
    demand(result == 0 || result == -ETIMEDOUT);
}

/* ---- the member that joins and leaves ---- */

static void visit(struct worker *worker)
{
    struct ripc *ripc;
    demand(ripc_open(NULL, &ripc) == 0);
    struct sst *table = table_join(ripc, VISITOR, STAYING + 1);
    for (uint64_t i = 1; i < 50; i++)
        demand(sst_set_u64(table, LONE, i) == 0);
    demand(sst_close(table, ripc_after(PATIENCE)) == 0);
    demand(ripc_close(ripc, ripc_after(PATIENCE)) == 0);
}

/* ---- everything together ---- */

static void on_news(struct sst *table, const struct sst_news *news, void *argument)
{
    if (news->kind != SST_EPOCH)
        atomic_fetch_add_explicit(&all.failures, 1, memory_order_relaxed);
}

static struct sst *table_join(struct ripc *ripc, unsigned member, unsigned wanted)
{
    struct sst *table = NULL;
    char reason[RIPC_REASON_MAX] = "";
    struct sst_config config = {
        .table = TABLE,
        .columns = columns,
        .column_count = COLUMNS,
        .row_size = sizeof(struct row),
        .member = member,
        .design = all.design,
        .rows_max = STAYING + 1,
        .rows_wanted = wanted,
        .deadline = ripc_after(PATIENCE),
        .trigger_nsec = PATIENCE,
        .upcall = on_news,
        .reason = reason,
    };
    int result = sst_open(ripc, &config, &table);
    if (result)
        fprintf(stderr, "# sst_open: %s: %s\n", ripc_strerror(result), reason);
    demand(result == 0);
    return table;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t count = 0;
    for (; !atomic_load_explicit(&all.stopping, memory_order_relaxed); count++)
        worker->act(worker);
    atomic_fetch_add_explicit(&all.counts, count, memory_order_relaxed);
    return NULL;
}

/* In the end all members must have the last put of every member. */
static void settle(void)
{
    for (unsigned i = 0; i < STAYING; i++)
        demand(sst_set_u64(all.tables[i], LONE, 1000 + i) == 0);
    for (unsigned i = 0; i < STAYING; i++)
        demand(sst_flush(all.tables[i], ripc_after(PATIENCE)) == 0);
    int64_t deadline = ripc_after(PATIENCE);
    for (unsigned i = 0; i < STAYING; i++)
        for (unsigned j = 0; j < STAYING; j++) {
            struct row one, other;
            uint32_t row = sst_row_own(all.tables[j]);
            demand(sst_row_of(all.tables[i], j + 1) == (int)row);
            do {
                demand(sst_row(all.tables[i], row, &one) == 0);
                demand(sst_row(all.tables[j], row, &other) == 0);
            } while (!row_equal(&one, &other) && ripc_now() < deadline);
            demand(row_equal(&one, &other));
            row_check(&one);
        }
    /* The last visitor's leave may have reached only one of them. */
    while (sst_epoch(all.tables[0]) != sst_epoch(all.tables[1]) && ripc_now() < deadline)
        continue;
    demand(sst_epoch(all.tables[0]) == sst_epoch(all.tables[1]));
    demand(atomic_load(&all.failures) == 0);
    demand(atomic_exchange(&all.whole, 0) > 0);
}

static void design_run(enum sst_design design, uint64_t seed, int64_t seconds)
{
    static void (*const acts[])(struct worker *) = {
        read_parts, read_rows, take_snapshots, aggregate, put, set, churn, wait_for_others, visit};
    static struct worker workers[THREADS];
    unsigned count = 0;
    all.design = design;
    atomic_store(&all.stopping, false);
    for (unsigned i = 0; i < STAYING; i++) {
        demand(ripc_open(NULL, &all.ripc[i]) == 0);
        all.tables[i] = table_join(all.ripc[i], i + 1, i + 1);
    }
    for (int64_t deadline = ripc_after(PATIENCE); sst_live_count(all.tables[0]) < STAYING;)
        demand(ripc_now() < deadline); /* the first member learns of the others a little later */
    /* One thread for each action on the first table; two more put and churn on the second one. */
    for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++)
        workers[count++] = (struct worker){.act = acts[i], .table = all.tables[0], .member = 1};
    workers[count++] = (struct worker){.act = put, .table = all.tables[1], .member = 2};
    workers[count++] = (struct worker){.act = churn, .table = all.tables[1], .member = 2};
    workers[count++] = (struct worker){.act = put, .table = all.tables[0], .member = 1};
    for (unsigned i = 0; i < count; i++) {
        workers[i].rng = rng_make(seed, i);
        demand(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    usleep((useconds_t)(seconds * 1000000));
    atomic_store(&all.stopping, true);
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    settle();
    for (unsigned i = 0; i < STAYING; i++) {
        demand(sst_close(all.tables[i], ripc_after(PATIENCE)) == 0);
        demand(ripc_close(all.ripc[i], ripc_after(PATIENCE)) == 0);
    }
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    int64_t seconds = count > 2 ? atoi(words[2]) : 2;
    char folder[] = "/dev/shm/weft-sst-stress-XXXXXX";
    printf("1..3\n# seed %llu: replay with %s %llu\n", (unsigned long long)seed, words[0],
           (unsigned long long)seed);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    unsetenv("WEFT_DOMAIN");
    unsigned descriptors = process_descriptors();
    for (int design = SST_WRITES; design <= SST_READS; design++) {
        atomic_store(&all.counts, 0);
        atomic_store(&all.fires, 0);
        design_run((enum sst_design)design, seed, seconds);
        printf("ok %d - %s: %llu acts of all kinds at once, %llu triggers\n", design + 1,
               design == SST_WRITES ? "writes" : "reads", (unsigned long long)all.counts,
               (unsigned long long)all.fires);
    }
    bool clean = rmdir(folder) == 0 && process_descriptors() == descriptors;
    printf("%sok 3 - nothing is left behind\n", clean ? "" : "not ");
    return clean ? 0 : 1;
}
