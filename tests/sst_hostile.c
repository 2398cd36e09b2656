/* Mistakes that a program can make with a table, and harm that other members can do: each gets a
 * clear error or an upcall, and changes nothing. Strangers are in sst_stranger.c, members that are
 * killed at any time in sst_kill.c. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <weft/sst.h>

#include "process.h"
#include "ripc/scene/scene.h"

#define TABLE 77

struct row {
    uint64_t step;
    uint32_t small;
    uint32_t pair[2];
    uint64_t ready;
};

enum { STEP, SMALL, PAIR, READY, COLUMNS };

static const struct sst_column columns[COLUMNS] = {
    [STEP] = SST_COLUMN(struct row, step, SST_U64, SST_GROWS),
    [SMALL] = SST_COLUMN(struct row, small, SST_U32, 0),
    [PAIR] = SST_COLUMN(struct row, pair, SST_U32, 0),
    [READY] = SST_COLUMN(struct row, ready, SST_U64, SST_GUARD),
};

static char reason[RIPC_REASON_MAX]; /* used by the main thread only */

static struct sst_config config_make(void)
{
    return (struct sst_config){
        .table = TABLE,
        .columns = columns,
        .column_count = COLUMNS,
        .row_size = sizeof(struct row),
        .rows_max = 4,
        .deadline = scene_deadline(),
        .reason = reason,
    };
}

static struct sst *table_open(struct ripc *ripc, const struct sst_config *config)
{
    struct sst *table = NULL;
    int result = sst_open(ripc, config, &table);
    if (result)
        print_message("# sst_open: %s: %s\n", ripc_strerror(result), reason);
    assert_int_equal(result, 0);
    return table;
}

static void table_close(struct sst *table)
{
    assert_int_equal(sst_close(table, scene_deadline()), 0);
}

/* The resources of a context, which must be the same after a refusal. */
struct holdings {
    unsigned descriptors;
    uint64_t buffers, buffer_bytes;
    uint64_t free_bytes; /* of shared memory; other processes use it too */
};

static struct holdings holdings_of(struct ripc *ripc)
{
    struct ripc_stats stats;
    struct statvfs memory;
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    assert_int_equal(statvfs("/dev/shm", &memory), 0);
    return (struct holdings){
        .descriptors = process_descriptors(),
        .buffers = stats.buffers,
        .buffer_bytes = stats.buffer_bytes,
        .free_bytes = memory.f_bavail * memory.f_bsize,
    };
}

static void open_in_vain(struct ripc *ripc, const struct sst_config *config, int expected)
{
    struct sst *table = NULL;
    reason[0] = '\0';
    int result = sst_open(ripc, config, &table);
    if (result != expected)
        print_message("# %d (%s), not %d: %s\n", result, ripc_strerror(result), expected, reason);
    assert_int_equal(result, expected);
    assert_null(table);
    assert_true(reason[0] != '\0' && !strchr(reason, '\n'));
}

static bool has_more(const struct holdings *after, const struct holdings *before)
{
    return after->descriptors > before->descriptors || after->buffers > before->buffers ||
           after->buffer_bytes > before->buffer_bytes ||
           after->free_bytes + ((uint64_t)64 << 20) < before->free_bytes;
}

/* Asserts that opening fails with that error, gives a reason, and takes no resources. The first
 * attempt may open connections to the other members, which remain. */
static void refuse(struct ripc *ripc, const struct sst_config *config, int expected)
{
    open_in_vain(ripc, config, expected);
    struct holdings before = holdings_of(ripc), after;
    open_in_vain(ripc, config, expected);
    int64_t deadline = ripc_after(5 * SCENE_SECOND); /* releasing resources takes a moment */
    do
        after = holdings_of(ripc);
    while (has_more(&after, &before) && ripc_now() < deadline);
    assert_false(has_more(&after, &before));
}

/* ---- configs ---- */

static void an_invalid_config_is_refused_with_a_reason(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct sst_config good = config_make(), bad;
    struct sst_column twice[COLUMNS];
    const struct sst_config wrong[] = {
        {.table = 0, .columns = columns, .column_count = COLUMNS, .row_size = sizeof(struct row)},
        {.table = 1, .columns = NULL, .column_count = COLUMNS, .row_size = sizeof(struct row)},
        {.table = 1, .columns = columns, .column_count = 0, .row_size = sizeof(struct row)},
        {.table = 1, .columns = columns, .column_count = COLUMNS, .row_size = 8},
        {.table = 1, .columns = columns, .column_count = SST_COLUMNS_MAX + 1, .row_size = 4096},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bad = wrong[i];
        bad.reason = reason;
        refuse(ripc, &bad, -EINVAL);
    }
    bad = good;
    bad.rows_max = SST_ROWS_MAX + 1;
    refuse(ripc, &bad, -EINVAL);
    bad = good;
    bad.rows_wanted = good.rows_max + 1;
    refuse(ripc, &bad, -EINVAL);
    bad = good;
    bad.design = (enum sst_design)7;
    refuse(ripc, &bad, -EINVAL);
    bad = good;
    bad.flags = 0x80;
    refuse(ripc, &bad, -EINVAL);
    memcpy(twice, columns, sizeof twice);
    twice[SMALL].name = twice[STEP].name;
    bad = good;
    bad.columns = twice;
    refuse(ripc, &bad, -EINVAL);
    scene_close(ripc);
}

/* A process with another row layout must not join, whatever the difference. */
static void another_row_layout_is_refused(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct sst_config config = config_make(), other;
    struct sst *table = table_open(here, &config);
    struct sst_column changed[COLUMNS];
    uint64_t epoch = sst_epoch(table);
    unsigned refusals = 0;
    for (unsigned i = 0; i < 6; i++) {
        memcpy(changed, columns, sizeof changed);
        other = config;
        other.columns = changed;
        if (i == 0)
            changed[SMALL].type = SST_I32;
        else if (i == 1)
            changed[SMALL].name = "smal";
        else if (i == 2)
            changed[STEP].flags = 0;
        else if (i == 3)
            changed[PAIR].count = 1;
        else if (i == 4)
            other.column_count--;
        else
            other.design = SST_READS;
        refuse(there, &other, -EPROTO);
        refusals++;
    }
    other = config;
    other.rows_max++;
    refuse(there, &other, -EPROTO);
    struct sst_stats stats;
    assert_int_equal(sst_stats(table, &stats), 0);
    unsigned joins = 2 * (refusals + 1);
    assert_in_range(stats.refused, joins,
                    4 * joins); /* a joining process without an answer asks again */
    assert_int_equal(sst_epoch(table), epoch);
    assert_int_equal(sst_live_count(table), 1);
    table_close(table_open(there, &config)); /* a process with the right layout joins */
    table_close(table);
    scene_close(there);
    scene_close(here);
}

static void a_table_larger_than_memory_is_refused_before_it_allocates(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct sst_column wide = {.name = "wide", .type = SST_U64, .count = (1u << 26)};
    struct sst_config config = config_make();
    config.columns = &wide;
    config.column_count = 1;
    config.row_size = wide.count * 8;
    config.rows_max = SST_ROWS_MAX; /* 256 rows of 512 MiB */
    refuse(ripc, &config, -ENOMEM);
    assert_non_null(strstr(reason, "256 rows"));
    wide.count = 1u << 28; /* a row larger than the limit */
    config.row_size = 1u << 31;
    refuse(ripc, &config, -EINVAL);
    table_close(table_open(ripc, &(struct sst_config){.table = TABLE,
                                                      .columns = columns,
                                                      .column_count = COLUMNS,
                                                      .row_size = sizeof(struct row)}));
    scene_close(ripc);
}

/* ---- too many ---- */

static void a_full_table_refuses_joiners_until_a_member_leaves(void **state)
{
    struct ripc *ripc[3];
    struct sst *tables[2];
    struct sst_config config = config_make();
    config.rows_max = 2;
    for (unsigned i = 0; i < 3; i++)
        ripc[i] = scene_open(NULL);
    for (unsigned i = 0; i < 2; i++)
        tables[i] = table_open(ripc[i], &config);
    refuse(ripc[2], &config, -ENOSPC);
    for (int64_t end = scene_deadline(); sst_live_count(tables[0]) < 2; usleep(1000))
        assert_true(ripc_now() < end); /* a member learns of a new one a little later */
    assert_int_equal(sst_live_count(tables[0]), 2);
    table_close(tables[1]);
    table_close(table_open(ripc[2], &config));
    table_close(tables[0]);
    for (unsigned i = 0; i < 3; i++)
        scene_close(ripc[i]);
}

#define CROWD 7

struct joiner {
    pthread_t thread;
    struct ripc *ripc;
    struct sst *table;
    int result;
};

static pthread_barrier_t gate;

static void *join_now(void *argument)
{
    struct joiner *joiner = argument;
    struct sst_config config = config_make();
    config.reason = NULL;
    pthread_barrier_wait(&gate);
    joiner->result = sst_open(joiner->ripc, &config, &joiner->table);
    return NULL;
}

static bool four_live(const struct sst *table, void *argument)
{
    return sst_live_count(table) == 4;
}

static void more_joiners_at_once_than_rows_leave_a_full_table(void **state)
{
    struct joiner joiners[CROWD] = {0};
    static const uint32_t name = STEP;
    unsigned in = 0;
    uint32_t rows = 0;
    pthread_barrier_init(&gate, NULL, CROWD);
    for (unsigned i = 0; i < CROWD; i++) {
        joiners[i].ripc = scene_open(NULL);
        assert_int_equal(pthread_create(&joiners[i].thread, NULL, join_now, &joiners[i]), 0);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        pthread_join(joiners[i].thread, NULL);
        if (joiners[i].result != 0)
            assert_int_equal(joiners[i].result, -ENOSPC);
        in += joiners[i].result == 0;
    }
    assert_int_equal(in, 4);
    for (unsigned i = 0; i < CROWD; i++) {
        if (!joiners[i].table)
            continue;
        int seen = sst_wait(joiners[i].table, four_live, NULL, &name, 1, scene_deadline());
        assert_int_equal(seen, 0);
        rows |= 1u << sst_row_own(joiners[i].table);
        assert_int_equal(sst_member(joiners[i].table, sst_row_own(joiners[i].table)) != 0, 1);
    }
    assert_int_equal(rows, 15); /* each has its own row */
    for (unsigned i = 0; i < CROWD; i++)
        if (joiners[i].table)
            table_close(joiners[i].table);
    for (unsigned i = 0; i < CROWD; i++)
        scene_close(joiners[i].ripc);
    pthread_barrier_destroy(&gate);
}

static void too_few_members_before_the_deadline_is_an_error(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct sst_config config = config_make();
    config.rows_wanted = 2;
    config.deadline = ripc_after(SCENE_SECOND / 50);
    refuse(ripc, &config, -ETIMEDOUT);
    scene_close(ripc);
}

static void a_second_member_with_the_same_id_is_refused(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct sst_config config = config_make();
    config.member = 4711;
    struct sst *table = table_open(here, &config);
    refuse(there, &config, -EADDRINUSE);
    assert_int_equal(sst_live_count(table), 1);
    table_close(table);
    scene_close(there);
    scene_close(here);
}

/* ---- calls ---- */

static void invalid_calls_change_nothing(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct sst_config config = config_make();
    struct sst *table = table_open(ripc, &config);
    struct row row;
    static const struct sst_range bad[] = {
        {COLUMNS, 0, 0}, {UINT32_MAX, 0, 0}, {PAIR, 2, 0}, {PAIR, 1, 2}, {PAIR, 1, UINT32_MAX}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct sst_range both[] = {{STEP, 0, 0}, bad[i]};
        assert_int_equal(sst_put(table, &bad[i], 1, NULL), -EINVAL);
        assert_int_equal(sst_put(table, both, 2, NULL), -EINVAL);
        assert_int_equal(sst_publish(table, &bad[i], 1, READY, 1, NULL), -EINVAL);
        assert_int_equal(sst_get(table, 0, &bad[i], &row), -EINVAL);
    }
    assert_int_equal(sst_publish(table, NULL, 0, PAIR, 1, NULL), -EINVAL); /* not a number */
    assert_int_equal(sst_publish(table, NULL, 0, COLUMNS, 1, NULL), -EINVAL);
    assert_int_equal(sst_set_u64(table, PAIR, 1), -EINVAL);
    assert_int_equal(sst_set_u64(table, COLUMNS, 1), -EINVAL);
    assert_int_equal(sst_set_u64(table, SMALL, 1ull << 32), -ERANGE);
    assert_int_equal(sst_set_i64(table, SMALL, -1), -ERANGE);
    assert_int_equal(sst_set_u64(table, STEP, 5), 0);
    assert_int_equal(sst_set_u64(table, STEP, 4), -ERANGE);
    assert_int_equal(sst_row(table, SST_ROWS_MAX, &row), -EINVAL);
    assert_int_equal(sst_row_of(table, 123456), -ENOENT);
    assert_int_equal(sst_freeze(table, SST_ROWS_MAX), -EINVAL);
    assert_int_equal(sst_predicate_remove(table, 999), -ENOENT);
    assert_int_equal(sst_wait(table, NULL, NULL, NULL, 0, RIPC_NOW), -EINVAL);
    assert_int_equal(sst_step(table, RIPC_NOW), -EINVAL); /* the table has its own thread */
    uint32_t no_column = COLUMNS;
    struct sst_predicate predicate = {.kind = SST_ONCE, .columns = &no_column, .column_count = 1};
    assert_int_equal(sst_predicate_add(table, &predicate, NULL), -EINVAL);
    assert_int_equal(sst_row(table, sst_row_own(table), &row), 0);
    assert_int_equal(row.step, 5);
    assert_int_equal(row.ready + row.small + row.pair[0] + row.pair[1], 0);
    table_close(table);
    scene_close(ripc);
}

/* ---- predicates ---- */

struct removal {
    struct sst *table;
    uint64_t handles[3];
    uint64_t victim;           /* the predicate that the first one removes */
    _Atomic unsigned fires[3]; /* release: the effects of the trigger are visible */
    _Atomic int result;
};

static bool always(const struct sst *table, void *argument)
{
    return true;
}

static void fire_first(struct sst *table, void *argument)
{
    struct removal *removal = argument;
    if (atomic_load(&removal->fires[0]) == 0)
        atomic_store(&removal->result, sst_predicate_remove(table, removal->victim));
    atomic_fetch_add(&removal->fires[0], 1);
}

static void fire_second(struct sst *table, void *argument)
{
    struct removal *removal = argument;
    atomic_fetch_add(&removal->fires[1], 1);
}

static void fire_third(struct sst *table, void *argument)
{
    struct removal *removal = argument;
    atomic_fetch_add(&removal->fires[2], 1);
}

/* Adds three predicates on one column; the first one removes one of them. The table is SST_MANUAL,
 * so that all are there in the first pass. */
static void removal_run(unsigned victim, unsigned *fires)
{
    static const uint32_t name = STEP;
    static sst_fire *const triggers[] = {fire_first, fire_second, fire_third};
    struct ripc *ripc = scene_open(NULL);
    struct sst_config config = config_make();
    struct removal removal = {.result = 1};
    config.flags = SST_MANUAL;
    removal.table = table_open(ripc, &config);
    for (unsigned i = 0; i < 3; i++) {
        struct sst_predicate predicate = {.name = "removed",
                                          .kind = SST_RECURRENT,
                                          .holds = always,
                                          .fire = triggers[i],
                                          .argument = &removal,
                                          .columns = &name,
                                          .column_count = 1};
        assert_int_equal(sst_predicate_add(removal.table, &predicate, &removal.handles[i]), 0);
    }
    removal.victim = removal.handles[victim];
    for (uint64_t step = 1; step < 4; step++) {
        assert_int_equal(sst_set_u64(removal.table, STEP, step), 0);
        while (sst_step(removal.table, RIPC_NOW) >= 0)
            continue;
    }
    assert_int_equal(atomic_load(&removal.result), 0);
    assert_int_equal(sst_predicate_remove(removal.table, removal.victim), -ENOENT);
    for (unsigned i = 0; i < 3; i++)
        fires[i] = atomic_load(&removal.fires[i]);
    table_close(removal.table);
    scene_close(ripc);
}

static void triggers_can_remove_any_predicate(void **state)
{
    unsigned fires[3];
    removal_run(0, fires);
    assert_int_equal(fires[0], 1);
    assert_true(fires[1] >= 3 && fires[1] == fires[2]);
    removal_run(1, fires); /* a predicate that has not fired yet */
    assert_int_equal(fires[1], 0);
    assert_true(fires[0] >= 3 && fires[0] == fires[2]);
    removal_run(2, fires);
    assert_int_equal(fires[2], 0);
    assert_true(fires[0] >= 3 && fires[0] == fires[1]);
}

/* ---- triggers ---- */

struct refusals {
    int closed, waited, barrier, stepped;
    _Atomic bool done; /* release: the other fields are written */
};

static void fire_what_waits(struct sst *table, void *argument)
{
    struct refusals *refusals = argument;
    refusals->closed = sst_close(table, ripc_after(SCENE_SECOND));
    refusals->barrier = sst_barrier(table, ripc_after(SCENE_SECOND));
    refusals->waited = sst_wait(table, always, NULL, NULL, 0, ripc_after(SCENE_SECOND));
    refusals->stepped = sst_step(table, RIPC_NOW);
    atomic_store_explicit(&refusals->done, true, memory_order_release);
}

static void until_set(_Atomic bool *flag)
{
    int64_t deadline = scene_deadline();
    while (!atomic_load_explicit(flag, memory_order_acquire)) {
        assert_true(ripc_now() < deadline);
        usleep(200);
    }
}

static void calls_that_wait_are_refused_in_a_trigger(void **state)
{
    static const uint32_t name = STEP;
    struct ripc *ripc = scene_open(NULL);
    for (uint32_t flags = 0; flags <= SST_MANUAL; flags++) {
        struct sst_config config = config_make();
        struct refusals refusals = {0};
        config.flags = flags;
        struct sst *table = table_open(ripc, &config);
        struct sst_predicate predicate = {.kind = SST_ONCE,
                                          .holds = always,
                                          .fire = fire_what_waits,
                                          .argument = &refusals,
                                          .columns = &name,
                                          .column_count = 1};
        assert_int_equal(sst_predicate_add(table, &predicate, NULL), 0);
        while (flags && sst_step(table, RIPC_NOW) >= 0)
            continue;
        until_set(&refusals.done);
        assert_int_equal(refusals.closed, -EDEADLK);
        assert_int_equal(refusals.barrier, -EDEADLK);
        assert_int_equal(refusals.waited, -EDEADLK);
        assert_int_equal(refusals.stepped, flags ? -EDEADLK : -EINVAL);
        /* The refused call did not count as a barrier: a single member passes the first one at
         * once. */
        assert_int_equal(sst_barrier(table, scene_deadline()), 0);
        table_close(table);
    }
    scene_close(ripc);
}

struct stuck {
    _Atomic bool entered, told, go_on;
    _Atomic unsigned tales;
    char name[64];
    int64_t nsec;
};

static void on_stuck(struct sst *table, const struct sst_news *news, void *argument)
{
    struct stuck *stuck = argument;
    if (news->kind != SST_STUCK)
        return;
    snprintf(stuck->name, sizeof stuck->name, "%s", news->name);
    stuck->nsec = news->nsec;
    atomic_fetch_add(&stuck->tales, 1);
    atomic_store_explicit(&stuck->told, true, memory_order_release);
}

static void fire_and_stay(struct sst *table, void *argument)
{
    struct stuck *stuck = argument;
    atomic_store_explicit(&stuck->entered, true, memory_order_release);
    while (!atomic_load_explicit(&stuck->go_on, memory_order_acquire))
        usleep(200);
}

static bool small_is_three(const struct sst *table, void *argument)
{
    return sst_maximum_u64(table, SMALL) == 3;
}

/* The trigger is reported by name, other members are not blocked, and everything goes on when it
 * returns. */
static void a_trigger_that_never_returns_is_reported_by_name(void **state)
{
    static const uint32_t names[] = {STEP, SMALL};
    static struct stuck stuck;
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct sst_config config = config_make();
    memset(&stuck, 0, sizeof stuck);
    config.trigger_nsec = SCENE_SECOND / 20;
    config.upcall = on_stuck;
    config.argument = &stuck;
    struct sst *table = table_open(here, &config);
    config.upcall = NULL;
    config.rows_wanted = 2;
    struct sst *other = table_open(there, &config);
    struct sst_predicate predicate = {.name = "the endless one",
                                      .kind = SST_ONCE,
                                      .holds = always,
                                      .fire = fire_and_stay,
                                      .argument = &stuck,
                                      .columns = names,
                                      .column_count = 1};
    assert_int_equal(sst_predicate_add(table, &predicate, NULL), 0);
    until_set(&stuck.told);
    assert_string_equal(stuck.name, "the endless one");
    assert_true(stuck.nsec >= SCENE_SECOND / 20);
    /* Our puts still reach the other member, and its puts reach us. */
    assert_int_equal(sst_set_u64(table, SMALL, 3), 0);
    assert_int_equal(sst_wait(other, small_is_three, NULL, names + 1, 1, scene_deadline()), 0);
    assert_int_equal(sst_set_u64(other, STEP, 9), 0);
    assert_int_equal(sst_flush(other, scene_deadline()), 0);
    assert_int_equal(sst_get_u64(table, sst_row_own(other), STEP), 9);
    usleep(150000);
    assert_int_equal(atomic_load(&stuck.tales), 1); /* once per run */
    atomic_store_explicit(&stuck.go_on, true, memory_order_release);
    assert_int_equal(sst_wait(table, small_is_three, NULL, names + 1, 1, scene_deadline()), 0);
    table_close(other);
    table_close(table);
    scene_close(there);
    scene_close(here);
}

/* ---- members that die ---- */

enum { DIES_BEFORE, DIES_DURING, DIES_AFTER, DEATHS };
#define DOOMED 99

/* A process that dies at that point of joining, after a byte lets it go on. */
struct doomed {
    pid_t pid;
    int go; /* a byte written here lets it go on */
};

static void doomed_run(int when, int go)
{
    struct ripc *ripc;
    struct sst *table;
    struct sst_config config = config_make();
    char byte;
    config.member = DOOMED;
    config.flags = SST_DROP;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go, &byte, 1) == 1 && ripc_open(NULL, &ripc) == 0 && when != DIES_BEFORE) {
        if (when == DIES_DURING)
            ualarm(400, 0); /* there is no handler for that signal */
        int result = sst_open(ripc, &config, &table);
        if (when == DIES_AFTER && result == 0)
            sst_set_u64(table, STEP, 77);
    }
    raise(SIGKILL);
}

static struct doomed doomed_begin(int when)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    struct doomed doomed = {.pid = fork(), .go = pipes[1]};
    assert_true(doomed.pid >= 0);
    if (doomed.pid == 0) {
        close(pipes[1]);
        doomed_run(when, pipes[0]);
    }
    close(pipes[0]);
    return doomed;
}

static void doomed_end(const struct doomed *doomed)
{
    int status;
    assert_int_equal(write(doomed->go, "g", 1), 1);
    assert_int_equal(waitpid(doomed->pid, &status, 0), doomed->pid);
    assert_true(WIFSIGNALED(status));
    close(doomed->go);
}

static void on_failed(struct sst *table, const struct sst_news *news, void *argument)
{
    if (news->kind == SST_FAILED)
        atomic_fetch_add((_Atomic unsigned *)argument, 1);
}

static bool alone(const struct sst *table, void *argument)
{
    return sst_live_count(table) == 1 && sst_row_of(table, DOOMED) < 0;
}

static void a_member_that_dies_around_joining_leaves_a_working_table(void **state)
{
    static const uint32_t name = STEP;
    static _Atomic unsigned failures;
    struct doomed doomed[DEATHS]; /* before we have threads */
    for (int when = 0; when < DEATHS; when++)
        doomed[when] = doomed_begin(when);
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct sst_config config = config_make();
    atomic_store(&failures, 0);
    config.flags = SST_DROP;
    config.upcall = on_failed;
    config.argument = &failures;
    struct sst *table = table_open(here, &config);
    config.upcall = NULL;
    for (int when = 0; when < DEATHS; when++) {
        unsigned before = atomic_load(&failures);
        doomed_end(&doomed[when]);
        assert_int_equal(sst_wait(table, alone, NULL, &name, 1, scene_deadline()), 0);
        if (when == DIES_BEFORE)
            assert_int_equal(atomic_load(&failures), before);
        /* Another process can still join, and the row of the dead one is not in the way. */
        struct sst *other = table_open(there, &config);
        assert_int_equal(sst_live_count(other), 2);
        table_close(other);
        if (when == DIES_AFTER)
            assert_int_equal(atomic_load(&failures), before + 1);
        else
            assert_true(atomic_load(&failures) <= before + 1);
    }
    table_close(table);
    scene_close(there);
    scene_close(here);
    assert_true(ripc_clean(NULL) >= 0);
}

TEST_MAIN(SCENE(an_invalid_config_is_refused_with_a_reason), SCENE(another_row_layout_is_refused),
          SCENE(a_table_larger_than_memory_is_refused_before_it_allocates),
          SCENE(a_full_table_refuses_joiners_until_a_member_leaves),
          SCENE(more_joiners_at_once_than_rows_leave_a_full_table),
          SCENE(too_few_members_before_the_deadline_is_an_error),
          SCENE(a_second_member_with_the_same_id_is_refused), SCENE(invalid_calls_change_nothing),
          SCENE(triggers_can_remove_any_predicate), SCENE(calls_that_wait_are_refused_in_a_trigger),
          SCENE(a_trigger_that_never_returns_is_reported_by_name),
          SCENE(a_member_that_dies_around_joining_leaves_a_working_table))
