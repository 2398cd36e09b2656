/* sst: what the interface guarantees while a put, a fetch, a view or a barrier is half done. */
#include "sst/core/sst_impl.h"

#include <errno.h>
#include <string.h>

#include "sst/core/sst_scene.h"

/* Makes this member's copy of the row look as if its owner were in the middle of a put. */
static void row_tear(struct sst *sst, uint32_t row)
{
    uint8_t *memory = sst->share.seats[row].row;
    uint32_t watch = sst->table.schema.columns[WIDE].watch;
    row_store(memory, ROW_SEQUENCE, row_load(memory, ROW_SEQUENCE) | 1);
    row_store(memory, watch, row_load(memory, watch) | 1);
}

static void a_row_left_in_the_middle_of_a_put_is_reported(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    struct sst *sst = members[0].sst;
    uint32_t row = sst_row_own(members[1].sst);
    struct test_row *own = sst_own(members[1].sst);
    for (unsigned k = 0; k < 100; k++)
        own->wide[k] = 500 + k;
    struct sst_range wide = {.column = WIDE};
    assert_int_equal(sst_publish(members[1].sst, &wide, 1, GUARD, 1, NULL), 0);
    wait_value(sst, row, GUARD, 1);
    row_tear(sst, row);
    uint32_t elements[100] = {0};
    struct test_row got;
    assert_int_equal(sst_get(sst, row, &wide, elements), -EAGAIN);
    assert_int_equal(sst_row(sst, row, &got), -EAGAIN);
    assert_int_equal(sst_freeze(sst, row), 0);
    uint32_t column = STEP;
    assert_int_equal(sst_wait(sst, lives_alone, NULL, &column, 1, scene_deadline()), 0);
    assert_int_equal(sst_get(sst, row, &wide, elements), -EIO);
    assert_int_equal(elements[99], 599);
    memset(&got, 0xa5, sizeof got);
    assert_int_equal(sst_row(sst, row, &got), -EIO);
    assert_int_equal(got.wide[99], 599);
    assert_int_equal(got.guard, 1);
    struct sst_snapshot *snapshot;
    assert_int_equal(sst_snapshot_take(sst, &snapshot), 0);
    const struct test_row *copy = sst_snapshot_row(snapshot, row);
    assert_int_equal(copy->wide[99], 599);
    assert_int_equal(copy->guard, 1);
    sst_snapshot_free(snapshot);
    close_members(members, 2);
}

static bool always(const struct sst *sst, void *argument)
{
    return true;
}

static bool never(const struct sst *sst, void *argument)
{
    return false;
}

static void a_wait_times_out_even_if_something_always_happens(void **state)
{
    struct member member;
    struct sst_config config = config_of(SST_WRITES, 1);
    config.flags = SST_MANUAL;
    open_members(&member, 1, &config);
    struct sst_predicate eager = {.kind = SST_RECURRENT, .holds = always};
    assert_int_equal(sst_predicate_add(member.sst, &eager, NULL), 0);
    assert_int_equal(sst_wait(member.sst, never, NULL, NULL, 0, ripc_after(SCENE_SECOND / 100)),
                     -ETIMEDOUT);
    assert_int_equal(sst_wait(member.sst, never, NULL, NULL, 0, RIPC_NOW), -EAGAIN);
    close_member(&member);
}

/* A member that calls again after a timeout waits at the same barrier. */
static void a_barrier_after_a_timeout_is_the_same_one(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    struct sst *slow = members[0].sst;
    struct sst *quick = members[1].sst;
    assert_int_equal(sst_barrier(slow, RIPC_NOW), -EAGAIN);
    assert_int_equal(sst_barrier(quick, scene_deadline()), 0);
    assert_int_equal(sst_barrier(quick, RIPC_NOW), -EAGAIN);
    assert_int_equal(sst_barrier(slow, scene_deadline()), 0); /* its first barrier */
    assert_int_equal(sst_barrier(quick, RIPC_NOW), -EAGAIN);  /* still its second barrier */
    assert_int_equal(sst_barrier(slow, scene_deadline()), 0);
    assert_int_equal(sst_barrier(quick, scene_deadline()), 0);
    close_members(members, 2);
}

static void note_step(struct sst *sst, const struct sst_news *news, void *argument)
{
    struct member *member = argument;
    if (news->kind == SST_EPOCH)
        member->fired = sst_maximum_u64(sst, STEP);
}

static void who_joins_sees_rows_from_the_first_upcall_on(enum sst_design design)
{
    struct member members[2];
    struct sst_config config = config_of(design, 1);
    open_members(members, 1, &config);
    assert_int_equal(sst_set_u64(members[0].sst, STEP, 5), 0);
    members[1] = (struct member){0};
    config.upcall = note_step;
    config.argument = &members[1];
    assert_int_equal(ripc_open(NULL, &members[1].ripc), 0);
    assert_int_equal(sst_open(members[1].ripc, &config, &members[1].sst), 0);
    assert_int_equal(members[1].fired, 5);
    close_members(members, 2);
}

static void a_joiner_sees_all_rows_in_its_first_upcall(void **state)
{
    who_joins_sees_rows_from_the_first_upcall_on(SST_WRITES);
    who_joins_sees_rows_from_the_first_upcall_on(SST_READS);
}

/* While a fetched row is being copied, no thread sees one of its columns without those that were
 * put before. */
static void a_half_copied_fetch_is_not_visible(void **state)
{
    struct member members[2];
    struct sst_config config = config_of(SST_READS, 2);
    open_members(members, 2, &config);
    struct sst *sst = members[0].sst;
    uint32_t row = sst_row_own(members[1].sst);
    uint32_t elements[100];
    struct sst_range wide = {.column = WIDE};
    assert_int_equal(sst_set_u64(members[1].sst, STEP, 3), 0);
    wait_value(sst, row, STEP, 3);
    assert_int_equal(sst_get(sst, row, &wide, elements), 0);
    lock_take(&sst->share.put_lock);
    uint8_t *memory = sst->share.seats[row].row;
    uint64_t sequence = row_load(memory, ROW_SEQUENCE);
    row_store(memory, ROW_SEQUENCE, sequence | 1);
    assert_int_equal(sst_get(sst, row, &wide, elements), -EAGAIN);
    row_store(memory, ROW_SEQUENCE, sequence);
    lock_drop(&sst->share.put_lock);
    assert_int_equal(sst_get(sst, row, &wide, elements), 0);
    close_members(members, 2);
}

struct large {
    uint64_t step;
    uint8_t rest[1 << 16]; /* makes copying take a while */
    uint64_t guard;
};

enum { LARGE_STEP, LARGE_REST, LARGE_GUARD, LARGE_COLUMNS };

static const struct sst_column large_columns[LARGE_COLUMNS] = {
    [LARGE_STEP] = SST_COLUMN(struct large, step, SST_U64, 0),
    [LARGE_REST] = SST_COLUMN(struct large, rest, SST_BYTES, 0),
    [LARGE_GUARD] = SST_COLUMN(struct large, guard, SST_U64, SST_GUARD),
};

static struct sst_config large_config(enum sst_design design, uint32_t wanted)
{
    struct sst_config config = config_of(design, wanted);
    config.columns = large_columns;
    config.column_count = LARGE_COLUMNS;
    config.row_size = sizeof(struct large);
    return config;
}

static void *put_in_order(void *argument)
{
    struct member *member = argument;
    for (uint64_t i = 1; i <= 1000 && member->result == 0; i++) {
        member->result = sst_set_u64(member->sst, LARGE_GUARD, i);
        if (member->result == 0)
            member->result = sst_set_u64(member->sst, LARGE_STEP, i);
        clock_nap(i % 32 * 4000);
    }
    member->fired = 1;
    return NULL;
}

static void aggregates_keep_the_order_of_puts(void **state)
{
    struct member members[2];
    struct sst_config config = large_config(SST_READS, 2);
    open_members(members, 2, &config);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, put_in_order, &members[1]), 0);
    while (!members[1].fired) {
        uint64_t later = sst_maximum_u64(members[0].sst, LARGE_STEP);
        assert_true(sst_maximum_u64(members[0].sst, LARGE_GUARD) >= later);
    }
    pthread_join(thread, NULL);
    assert_int_equal(members[1].result, 0);
    wait_value(members[0].sst, sst_row_own(members[1].sst), LARGE_STEP, 1000);
    close_members(members, 2);
}

struct writer {
    uint8_t *rows[2];
    uint32_t cell;
    _Atomic bool stop;
};

/* Plays two owners: the second one answers a put of the first before the first has increased its
 * sequence. */
static void *write_in_turn(void *argument)
{
    struct writer *writer = argument;
    for (uint64_t i = 1; !writer->stop; i++) {
        uint64_t sequence = row_load(writer->rows[1], ROW_SEQUENCE);
        atomic_thread_fence(memory_order_release);
        row_store(writer->rows[0], writer->cell, i);
        row_set(writer->rows[1], writer->cell, i, sequence + 2);
        for (unsigned k = 0; k < i * 7 % 1024; k++)
            cpu_relax();
        sequence = row_load(writer->rows[0], ROW_SEQUENCE);
        atomic_thread_fence(memory_order_release);
        row_store(writer->rows[0], ROW_SEQUENCE, sequence + 2);
        for (unsigned k = 0; k < i * 11 % 1024; k++)
            cpu_relax();
    }
    return NULL;
}

static void a_consistent_snapshot_has_no_answer_without_its_question(void **state)
{
    struct member members[3];
    struct sst_config config = large_config(SST_WRITES, 3);
    open_members(members, 3, &config);
    uint32_t own = sst_row_own(members[0].sst);
    uint32_t rows[] = {own == 0 ? 1 : 0, own == 2 ? 1 : 2};
    struct writer writer = {
        .rows = {members[0].sst->share.seats[rows[0]].row,
                 members[0].sst->share.seats[rows[1]].row},
        .cell = members[0].sst->table.schema.columns[LARGE_STEP].cell,
    };
    pthread_t thread;
    unsigned rested = 0, busy = 0;
    assert_int_equal(pthread_create(&thread, NULL, write_in_turn, &writer), 0);
    for (unsigned i = 0; i < 1000 && busy < 20; i++) {
        struct sst_snapshot *snapshot;
        int result = sst_snapshot_take(members[0].sst, &snapshot);
        if (result == -EAGAIN) { /* the two writers never paused for long enough */
            busy++;
            continue;
        }
        assert_true(result >= 0);
        const struct large *question = sst_snapshot_row(snapshot, rows[0]);
        const struct large *answer = sst_snapshot_row(snapshot, rows[1]);
        rested += result == 0;
        if (result == 0)
            assert_true(question->step >= answer->step);
        sst_snapshot_free(snapshot);
    }
    writer.stop = true;
    pthread_join(thread, NULL);
    assert_true(rested > 0 || busy == 20);
    close_members(members, 3);
}

/* Counts the members that are visible in an upcall of a failure: the view must still be
 * complete. */
static void note_view(struct sst *sst, const struct sst_news *news, void *argument)
{
    struct member *member = argument;
    if (news->kind != SST_FAILED)
        return;
    member->failures++;
    for (uint32_t row = 0; row < sst_row_count(sst); row++)
        member->fired += sst_member(sst, row) != 0;
}

static void failures_are_reported_before_the_view_changes(void **state)
{
    struct member members[3];
    struct sst_config config = config_of(SST_WRITES, 3);
    open_members(members, 3, &config);
    struct sst *sst = members[0].sst;
    detector_enter(sst);
    sst->config.upcall = note_view;
    struct view view = sst->view;
    for (uint32_t row = 0; row < 3; row++)
        if (row != sst_row_own(sst))
            view.rows[row] = (struct view_member){0};
    view.epoch++;
    view.row_count = sst_row_own(sst) + 1;
    detector_leave(sst);
    membership_install(sst, &view);
    uint32_t column = STEP;
    assert_int_equal(sst_wait(sst, lives_alone, NULL, &column, 1, scene_deadline()), 0);
    detector_enter(sst); /* wait for the end of the pass */
    detector_leave(sst);
    assert_int_equal(members[0].failures, 2);
    assert_int_equal(members[0].fired, 6);
    close_members(members, 3);
}

struct diary {
    _Atomic unsigned epochs, failures, expelled; /* counted by the upcall */
};

static void diary_write(struct sst *sst, const struct sst_news *news, void *argument)
{
    struct diary *diary = argument;
    diary->epochs += news->kind == SST_EPOCH;
    diary->failures += news->kind == SST_FAILED;
    diary->expelled += news->kind == SST_EXPELLED;
}

/* The council of an expelled member may still install a view that it had prepared, or learn of a
 * death. */
static void a_table_stays_as_it_was_when_its_member_was_expelled(void **state)
{
    struct diary diary = {0};
    struct ripc *ripc;
    struct sst *sst;
    struct introduction out;
    struct sst_config config = config_of(SST_WRITES, 1);
    config.upcall = diary_write;
    config.argument = &diary;
    assert_int_equal(ripc_open(NULL, &ripc), 0);
    assert_int_equal(sst_open(ripc, &config, &sst), 0);
    detector_enter(sst);
    struct view view = sst->view;
    detector_leave(sst);
    view.row_count = 2;
    view.rows[1] = (struct view_member){.id = 99, .nonce = 99, .since = ++view.epoch};
    assert_int_equal(keeper_meetings.offer(sst, 1, 99, &out), 0);
    membership_expelled(sst);
    membership_install(sst, &view);
    membership_fail(sst, 1);
    /* The keeper meets no process before the detector has handled all events. */
    assert_int_equal(keeper_meetings.offer(sst, 2, 98, &out), 0);
    assert_int_equal(diary.expelled, 1);
    assert_int_equal(diary.epochs, 1);
    assert_int_equal(diary.failures, 0);
    assert_int_equal(sst_epoch(sst), view.epoch - 1);
    assert_int_equal(sst_row_count(sst), 1);
    assert_false(sst_is_live(sst, 1));
    assert_int_equal(sst->share.seats[1].target.member, 0); /* what we put does not go there */
    keeper_meetings.part(sst, 2);
    sst_close(sst, scene_deadline());
    scene_close(ripc);
}

/* Members of one host write each other's memory, and they need not know yet that one of them was
 * expelled. */
static void no_member_changes_a_row_in_the_table_of_an_expelled_one(void **state)
{
    for (int design = SST_WRITES; design <= SST_READS; design++) {
        struct member members[2];
        struct sst_config config = config_of((enum sst_design)design, 2);
        open_members(members, 2, &config);
        struct sst *sst = members[0].sst;
        uint32_t row = sst_row_own(members[1].sst);
        sst_set_u64(members[1].sst, STEP, 1);
        wait_value(sst, row, STEP, 1);
        membership_expelled(sst);
        uint32_t column = STEP;
        assert_int_equal(sst_wait(sst, lives_alone, NULL, &column, 1, scene_deadline()), 0);
        sst_set_u64(members[1].sst, STEP, 2);
        sst_set_u64(sst, STEP, 3);
        wait_value(sst, sst_row_own(sst), STEP, 3); /* a pass of the detector */
        assert_int_equal(sst_get_u64(sst, row, STEP), 1);
        close_members(members, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_row_left_in_the_middle_of_a_put_is_reported),
        SCENE(a_wait_times_out_even_if_something_always_happens),
        SCENE(a_barrier_after_a_timeout_is_the_same_one),
        SCENE(a_joiner_sees_all_rows_in_its_first_upcall),
        SCENE(a_half_copied_fetch_is_not_visible),
        SCENE(aggregates_keep_the_order_of_puts),
        SCENE(a_consistent_snapshot_has_no_answer_without_its_question),
        SCENE(failures_are_reported_before_the_view_changes),
        SCENE(a_table_stays_as_it_was_when_its_member_was_expelled),
        SCENE(no_member_changes_a_row_in_the_table_of_an_expelled_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
