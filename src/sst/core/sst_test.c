/* sst: tables of several members in one process, each with its own context, over shared memory;
 * both designs. Processes that die are in tests/sst_kill.c. */
#include <weft/sst.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sst/core/sst_scene.h"

static void values_travel(enum sst_design design)
{
    struct member members[3];
    struct sst_config config = config_of(design, 3);
    open_members(members, 3, &config);
    for (unsigned i = 0; i < 3; i++) {
        struct sst *sst = members[i].sst;
        struct test_row *own = sst_own(sst);
        assert_int_equal(sst_live_count(sst), 3);
        assert_int_equal(sst_row_count(sst), 3);
        assert_int_equal(sst_epoch(sst), sst_epoch(members[0].sst));
        for (unsigned k = 0; k < 100; k++)
            own->wide[k] = 1000 * i + k;
        memcpy(own->tag, "tag", 4);
        own->level = -1 - (int)i;
        own->load = 0.5 * i;
        struct sst_range ranges[] = {
            {.column = WIDE}, {.column = TAG}, {.column = LEVEL}, {.column = LOAD}};
        assert_int_equal(sst_publish(sst, ranges, 4, GUARD, 10 + i, NULL), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++) {
            struct sst *sst = members[i].sst;
            uint32_t row = sst_row_own(members[j].sst);
            struct test_row got;
            assert_int_equal(sst_member(sst, row), sst_member(members[j].sst, row));
            assert_int_equal(sst_row_of(sst, sst_member(sst, row)), row);
            wait_value(sst, row, GUARD, 10 + j);
            assert_int_equal(sst_row(sst, row, &got), 0);
            assert_int_equal(got.wide[99], 1000 * j + 99);
            assert_string_equal((char *)got.tag, "tag");
            assert_int_equal(got.level, -1 - (int)j);
            assert_int_equal(sst_get_i64(sst, row, LEVEL), -1 - (int)j);
            assert_true(got.load == 0.5 * j && sst_get_f64(sst, row, LOAD) == 0.5 * j);
            uint32_t part[2];
            struct sst_range range = {.column = WIDE, .first = 50, .count = 2};
            assert_int_equal(sst_get(sst, row, &range, part), 0);
            assert_int_equal(part[1], 1000 * j + 51);
            assert_int_equal(((const uint32_t *)sst_cells(sst, row, WIDE))[7], 1000 * j + 7);
        }
    assert_int_equal(sst_minimum_u64(members[0].sst, GUARD), 10);
    assert_int_equal(sst_sum_i64(members[1].sst, LEVEL), -6);
    close_members(members, 3);
}

static void values_travel_by_writes(void **state)
{
    values_travel(SST_WRITES);
}

static void values_travel_by_reads(void **state)
{
    values_travel(SST_READS);
}

/* ---- predicates ---- */

static bool all_have_mine(const struct sst *sst, void *argument)
{
    return sst_all_at_least_u64(sst, STEP, sst_get_u64(sst, sst_row_own(sst), STEP));
}

#define COUNT_TO 2000

static void count_on(struct sst *sst, void *argument)
{
    struct member *member = argument;
    uint64_t step = sst_get_u64(sst, sst_row_own(sst), STEP);
    member->fired++;
    if (step < COUNT_TO)
        assert_int_equal(sst_set_u64(sst, STEP, step + 1), 0);
}

static void counting(enum sst_design design)
{
    struct member members[3];
    struct sst_config config = config_of(design, 3);
    open_members(members, 3, &config);
    uint32_t column = STEP;
    for (unsigned i = 0; i < 3; i++) {
        struct sst_predicate predicate = {
            .name = "count",
            .kind = SST_RECURRENT,
            .holds = all_have_mine,
            .fire = count_on,
            .argument = &members[i],
            .columns = &column,
            .column_count = 1,
        };
        assert_int_equal(sst_predicate_add(members[i].sst, &predicate, NULL), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        for (uint32_t row = 0; row < 3; row++)
            wait_value(members[i].sst, row, STEP, COUNT_TO);
    for (unsigned i = 0; i < 3; i++)
        assert_true(members[i].fired >= COUNT_TO);
    close_members(members, 3);
}

static void members_count_by_writes(void **state)
{
    counting(SST_WRITES);
}

static void members_count_by_reads(void **state)
{
    counting(SST_READS);
}

static void try_to_wait(struct sst *sst, void *argument)
{
    _Atomic int *results = argument;
    results[0] = sst_barrier(sst, RIPC_FOREVER);
    results[1] = sst_close(sst, RIPC_FOREVER);
    results[2] = sst_wait(sst, has_value, NULL, NULL, 0, RIPC_FOREVER);
    results[3] = 1;
}

static bool has_tried(const struct sst *sst, void *argument)
{
    return ((_Atomic int *)argument)[3];
}

static void a_trigger_that_would_wait_for_triggers_is_refused(void **state)
{
    struct member member;
    _Atomic int results[4] = {0};
    struct sst_config config = config_of(SST_WRITES, 1);
    open_members(&member, 1, &config);
    uint32_t column = STEP;
    struct sst_predicate predicate = {
        .kind = SST_ONCE,
        .holds = has_value,
        .argument = &(struct wish){0, STEP, 0},
        .columns = &column,
        .column_count = 1,
    };
    uint64_t handle;
    struct wish wish = {0, STEP, 1};
    predicate.argument = &wish;
    assert_int_equal(sst_predicate_add(member.sst, &predicate, &handle), 0);
    assert_int_equal(sst_trigger_add(member.sst, handle, try_to_wait, results), 0);
    assert_int_equal(sst_set_u64(member.sst, STEP, 1), 0);
    assert_int_equal(sst_wait(member.sst, has_tried, results, NULL, 0, scene_deadline()), 0);
    assert_int_equal(results[0], -EDEADLK);
    assert_int_equal(results[1], -EDEADLK);
    assert_int_equal(results[2], -EDEADLK);
    close_members(&member, 1);
}

/* ---- puts ---- */

static void a_put_to_some_members_reaches_only_those(void **state)
{
    struct member members[3];
    struct sst_config config = config_of(SST_WRITES, 3);
    open_members(members, 3, &config);
    uint32_t from = sst_row_own(members[0].sst);
    uint32_t to = sst_row_own(members[1].sst);
    struct sst_rows rows = {{0}};
    rows.bits[to / 64] = 1ULL << to % 64;
    ((struct test_row *)sst_own(members[0].sst))->level = 5;
    struct sst_range range = {.column = LEVEL};
    assert_int_equal(sst_put(members[0].sst, &range, 1, &rows), 0);
    assert_int_equal(sst_set_u64(members[0].sst, STEP, 1), 0); /* to all, after the put to some */
    for (unsigned i = 1; i < 3; i++)
        wait_value(members[i].sst, from, STEP, 1);
    assert_int_equal(sst_get_i64(members[1].sst, from, LEVEL), 5);
    assert_int_equal(sst_get_i64(members[2].sst, from, LEVEL), 0);
    close_members(members, 3);

    config = config_of(SST_READS, 1);
    open_members(members, 1, &config);
    assert_int_equal(sst_put(members[0].sst, &range, 1, &rows), -EOPNOTSUPP);
    close_members(members, 1);
}

static void invalid_puts_are_refused(void **state)
{
    struct member member;
    struct sst_config config = config_of(SST_WRITES, 1);
    open_members(&member, 1, &config);
    assert_int_equal(sst_set_u64(member.sst, TEST_COLUMNS, 1), -EINVAL);
    assert_int_equal(sst_set_u64(member.sst, WIDE, 1), -EINVAL);
    assert_int_equal(sst_set_u64(member.sst, LEVEL, 1ULL << 40), -ERANGE);
    assert_int_equal(sst_set_u64(member.sst, STEP, 3), 0);
    assert_int_equal(sst_set_u64(member.sst, STEP, 2), -ERANGE);
    assert_int_equal(sst_publish(member.sst, NULL, 0, WIDE, 1, NULL), -EINVAL);
    assert_int_equal(sst_put(member.sst, NULL, 1, NULL), -EINVAL);
    assert_int_equal(sst_predicate_remove(member.sst, 12345), -ENOENT);
    assert_int_equal(sst_step(member.sst, RIPC_NOW), -EINVAL); /* the table has a thread */
    assert_int_equal(sst_freeze(member.sst, 0), -EINVAL);      /* our own row */
    assert_int_equal(sst_freeze(member.sst, 9), -EINVAL);
    struct sst_stats stats;
    assert_int_equal(sst_stats(member.sst, &stats), 0);
    assert_int_equal(stats.puts, 1);
    close_members(&member, 1);
}

/* ---- waiting ---- */

static void *barrier_thread(void *argument)
{
    struct member *member = argument;
    for (unsigned i = 0; i < 200 && member->result == 0; i++) {
        member->fired = i;
        member->result = sst_barrier(member->sst, scene_deadline());
    }
    return NULL;
}

static void barriers(enum sst_design design)
{
    struct member members[3];
    pthread_t threads[3];
    struct sst_config config = config_of(design, 3);
    open_members(members, 3, &config);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, barrier_thread, &members[i]), 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(members[i].result, 0);
    assert_int_equal(sst_barrier(members[0].sst, ripc_after(SCENE_SECOND / 50)), -ETIMEDOUT);
    assert_int_equal(sst_flush(members[0].sst, scene_deadline()), 0);
    close_members(members, 3);
}

static void members_meet_at_barriers(void **state)
{
    barriers(SST_WRITES);
    barriers(SST_READS);
}

static void *close_in_thread(void *argument)
{
    struct member *member = argument;
    member->result = sst_close(member->sst, scene_deadline());
    return NULL;
}

static void a_program_can_run_the_loop_itself(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_WRITES, 1);
    config.flags = SST_MANUAL;
    open_members(members, 1, &config);
    members[1] = (struct member){.config = config};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_member, &members[1]), 0);
    while (sst_live_count(members[0].sst) < 2)
        assert_true(sst_step(members[0].sst, scene_deadline()) >= 0);
    pthread_join(thread, NULL);
    assert_int_equal(members[1].result, 0);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 4), 0);
    wait_value(members[0].sst, sst_row_own(members[1].sst), STEP, 4);
    while (sst_step(members[0].sst, RIPC_NOW) >= 0)
        ;
    assert_int_equal(sst_step(members[0].sst, RIPC_NOW), -EAGAIN);
    assert_int_equal(sst_step(members[0].sst, ripc_after(1000000)), -ETIMEDOUT);
    assert_int_equal(pthread_create(&thread, NULL, close_in_thread, &members[0]), 0);
    while (sst_live_count(members[1].sst) > 1)
        assert_true(sst_step(members[1].sst, scene_deadline()) >= 0);
    pthread_join(thread, NULL);
    assert_int_equal(members[0].result, 0);
    scene_close(members[0].ripc);
    close_member(&members[1]);
}

static void a_sleeping_detector_is_woken(void **state)
{
    struct member members[2];
    struct sst_stats stats;
    struct sst_config config = config_of(SST_WRITES, 2);
    config.spin_nsec = -1;
    config.yield_nsec = -1;
    open_members(members, 2, &config);
    for (uint64_t i = 1; i <= 50; i++) {
        assert_int_equal(sst_set_u64(members[0].sst, STEP, i), 0);
        wait_value(members[1].sst, sst_row_own(members[0].sst), STEP, i);
        assert_int_equal(sst_set_u64(members[1].sst, STEP, i), 0);
        wait_value(members[0].sst, sst_row_own(members[1].sst), STEP, i);
    }
    /* On a busy machine there may always have been something new; it sleeps now at the latest. */
    for (int64_t end = scene_deadline();; usleep(1000)) {
        assert_int_equal(sst_stats(members[0].sst, &stats), 0);
        if (stats.blocks > 0)
            break;
        assert_true(ripc_now() < end);
    }
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 51), 0);
    wait_value(members[0].sst, sst_row_own(members[1].sst), STEP, 51);
    close_members(members, 2);
}

/* ---- members ---- */

static void a_member_that_leaves_is_gone_under_a_new_epoch(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 9), 0);
    uint32_t row = sst_row_own(members[1].sst);
    uint64_t epoch = sst_epoch(members[0].sst);
    wait_value(members[0].sst, row, STEP, 9);
    close_member(&members[1]);
    uint32_t column = STEP;
    assert_int_equal(sst_wait(members[0].sst, lives_alone, NULL, &column, 1, scene_deadline()), 0);
    assert_true(sst_epoch(members[0].sst) > epoch);
    assert_int_equal(sst_member(members[0].sst, row), 0);
    assert_int_equal(sst_get_u64(members[0].sst, row, STEP), 0);
    assert_int_equal(members[0].failures, 0);
    close_member(&members[0]);
}

static void a_frozen_row_stays_readable(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    uint32_t row = sst_row_own(members[1].sst);
    assert_int_equal(sst_set_u64(members[0].sst, STEP, 20), 0);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 9), 0);
    wait_value(members[0].sst, row, STEP, 9);
    assert_int_equal(sst_minimum_u64(members[0].sst, STEP), 9);
    assert_int_equal(sst_freeze(members[0].sst, row), 0);
    uint32_t column = STEP;
    assert_int_equal(sst_wait(members[0].sst, lives_alone, NULL, &column, 1, scene_deadline()), 0);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 10), 0); /* not received by any member */
    assert_int_equal(sst_flush(members[1].sst, scene_deadline()), 0);
    assert_int_equal(sst_get_u64(members[0].sst, row, STEP), 9);
    assert_int_equal(sst_minimum_u64(members[0].sst, STEP), 20);
    struct test_row got;
    assert_int_equal(sst_row(members[0].sst, row, &got), 0);
    assert_int_equal(got.step, 9);
    assert_int_equal(sst_freeze(members[0].sst, row), 0); /* the second time: no second upcall */
    assert_int_equal(sst_set_u64(members[0].sst, STEP, 21), 0);
    wait_value(members[0].sst, sst_row_own(members[0].sst), STEP, 21);
    assert_int_equal(members[0].failures, 1);
    close_members(members, 2);
}

static void snapshots_are_copies(void **state)
{
    struct member members[2];
    struct sst_snapshot *snapshot;
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    uint32_t row = sst_row_own(members[1].sst);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 3), 0);
    wait_value(members[0].sst, row, STEP, 3);
    assert_int_equal(sst_snapshot_take(members[0].sst, &snapshot), 0);
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 4), 0);
    wait_value(members[0].sst, row, STEP, 4);
    const struct test_row *copy = sst_snapshot_row(snapshot, row);
    assert_int_equal(copy->step, 3);
    assert_true(sst_snapshot_is_live(snapshot, row));
    assert_false(sst_snapshot_is_live(snapshot, 2));
    assert_int_equal(sst_snapshot_epoch(snapshot), sst_epoch(members[0].sst));
    assert_null(sst_snapshot_row(snapshot, 64));
    sst_snapshot_free(snapshot);
    close_members(members, 2);
}

static void a_joiner_that_does_not_fit_is_refused(void **state)
{
    struct member members[3];
    struct sst_config config = config_of(SST_WRITES, 1);
    config.rows_max = 2;
    open_members(members, 2, &config);
    struct sst_column other[TEST_COLUMNS];
    memcpy(other, test_columns, sizeof other);
    other[LEVEL].type = SST_U32;
    members[2] = (struct member){.config = config};
    members[2].config.columns = other;
    open_member(&members[2]);
    assert_int_equal(members[2].result, -EPROTO);
    assert_true(strlen(members[2].reason) > 0);
    scene_close(members[2].ripc);

    members[2] = (struct member){.config = config};
    members[2].config.design = SST_READS;
    open_member(&members[2]);
    assert_int_equal(members[2].result, -EPROTO);
    scene_close(members[2].ripc);

    members[2] = (struct member){.config = config};
    open_member(&members[2]);
    assert_int_equal(members[2].result, -ENOSPC);
    scene_close(members[2].ripc);

    members[2] = (struct member){.config = config};
    members[2].config.member = sst_member(members[0].sst, 0);
    open_member(&members[2]);
    assert_int_equal(members[2].result, -EADDRINUSE);
    scene_close(members[2].ripc);
    close_members(members, 2);
}

static void invalid_tables_are_refused(void **state)
{
    struct member member;
    struct sst_config right = config_of(SST_WRITES, 1);
    struct sst_config wrong[6];
    for (unsigned i = 0; i < 6; i++)
        wrong[i] = right;
    wrong[0].table = 0;
    wrong[1].column_count = 0;
    wrong[2].rows_max = SST_ROWS_MAX + 1;
    wrong[3].design = 7;
    wrong[4].flags = 64;
    wrong[5].rows_wanted = 65;
    for (unsigned i = 0; i < 6; i++) {
        member = (struct member){.config = wrong[i]};
        open_member(&member);
        assert_int_equal(member.result, -EINVAL);
        assert_true(strlen(member.reason) > 0);
        scene_close(member.ripc);
    }
    member = (struct member){.config = right};
    member.config.rows_wanted = 2;
    member.config.deadline = ripc_after(SCENE_SECOND / 10);
    open_member(&member);
    assert_int_equal(member.result, -ETIMEDOUT);
    scene_close(member.ripc);
}

/* A table larger than the memory of any machine. */
static void a_table_larger_than_memory_is_refused(void **state)
{
    static const struct sst_column huge[] = {{"huge", SST_BYTES, 1u << 30, 0, 0}};
    struct member member = {.config = config_of(SST_WRITES, 1)};
    member.config.columns = huge;
    member.config.column_count = 1;
    member.config.row_size = 1u << 30;
    member.config.rows_max = SST_ROWS_MAX;
    open_member(&member);
    assert_true(member.result == -ENOMEM || member.result == -EINVAL);
    assert_true(strlen(member.reason) > 0);
    scene_close(member.ripc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(values_travel_by_writes),
        SCENE(values_travel_by_reads),
        SCENE(members_count_by_writes),
        SCENE(members_count_by_reads),
        SCENE(a_trigger_that_would_wait_for_triggers_is_refused),
        SCENE(a_put_to_some_members_reaches_only_those),
        SCENE(invalid_puts_are_refused),
        SCENE(members_meet_at_barriers),
        SCENE(a_program_can_run_the_loop_itself),
        SCENE(a_sleeping_detector_is_woken),
        SCENE(a_member_that_leaves_is_gone_under_a_new_epoch),
        SCENE(a_frozen_row_stays_readable),
        SCENE(snapshots_are_copies),
        SCENE(a_joiner_that_does_not_fit_is_refused),
        SCENE(invalid_tables_are_refused),
        SCENE(a_table_larger_than_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
