/* What an atomic word of the table orders: one thread writes plain memory and then the word, the
 * other sees the word and reads the memory. ThreadSanitizer reports a race if the store does not
 * release or the load does not acquire; without it the tests check only the values. */
#include <sched.h>

#include "sst/core/sst_impl.h"
#include "sst/core/sst_scene.h"
#include "sst/table/aggregate.h"

/* ---- views, published by the detector ---- */

#define OTHER 99 /* a member that does not exist: only its row is shown */

static struct member member;

static void *fake_row(const struct schema *schema)
{
    void *row = aligned_alloc(SCHEMA_LINE, schema->row_size);
    assert_non_null(row);
    return memset(row, 0, schema->row_size);
}

static bool has_row(const struct sst *sst)
{
    return table_row(&sst->table, 1) != sst->table.nothing;
}

static bool has_member(const struct sst *sst)
{
    return sst_member(sst, 1) == OTHER;
}

static bool has_live(const struct sst *sst)
{
    return sst_is_live(sst, 1);
}

static bool has_live_count(const struct sst *sst)
{
    return sst_live_count(sst) == 2;
}

static bool has_next_live(const struct sst *sst)
{
    uint32_t row = 1;
    return table_next_live(&sst->table, &row);
}

static bool has_row_count(const struct sst *sst)
{
    return sst_row_count(sst) == 2;
}

static bool has_epoch(const struct sst *sst)
{
    return sst_epoch(sst) == 2;
}

static bool has_view(const struct sst *sst)
{
    return table_view_begin(&sst->table) == 4;
}

/* The detector installs a view with one more row; `seen` reads only one word of it. `whole`: the
 * word is written after the view was copied. */
static void view_is_seen(bool (*seen)(const struct sst *sst), bool whole)
{
    struct sst_config config = config_of(SST_WRITES, 1);
    open_members(&member, 1, &config);
    struct sst *sst = member.sst;
    assert_int_equal(sst_epoch(sst), 1);
    void *row = fake_row(&sst->table.schema);
    sst->share.seats[1].row = row;
    struct view view;
    detector_enter(sst);
    sst->gone[1] = true; /* row_install writes it before anything is published */
    view = sst->view;
    detector_leave(sst);
    view.epoch = 2;
    view.row_count = 2;
    view.rows[1] = (struct view_member){.id = OTHER, .nonce = OTHER};
    membership_install(sst, &view);
    while (!seen(sst))
        sched_yield();
    assert_false(sst->gone[1]);
    if (whole)
        assert_int_equal(sst->view.epoch, 2);
    sst->share.seats[1].row = NULL;
    close_member(&member);
    free(row);
}

static void every_word_of_a_view_publishes_the_view(void **state)
{
    static bool (*const parts[])(const struct sst *sst) = {has_row, has_member, has_live,
                                                           has_live_count, has_next_live};
    static bool (*const ends[])(const struct sst *sst) = {has_row_count, has_epoch, has_view};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        view_is_seen(parts[i], false);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        view_is_seen(ends[i], true);
}

static unsigned told; /* plain: written by the upcall in the detector's thread */

static void note_expelled(struct sst *sst, const struct sst_news *news, void *argument)
{
    told += news->kind == SST_EXPELLED;
}

/* The keeper meets no process before the detector has handled all events: then it sees their
 * effects. */
static void the_keeper_sees_what_the_detector_did(void **state)
{
    struct sst_config config = config_of(SST_WRITES, 1);
    config.upcall = note_expelled;
    struct ripc *ripc;
    struct sst *sst;
    struct introduction out;
    assert_int_equal(ripc_open(NULL, &ripc), 0);
    assert_int_equal(sst_open(ripc, &config, &sst), 0);
    membership_expelled(sst);
    assert_int_equal(keeper_meetings.offer(sst, 5, OTHER, &out), 0);
    assert_int_equal(told, 1);
    keeper_meetings.part(sst, 5);
    sst_close(sst, scene_deadline());
    scene_close(ripc);
}

/* ---- a table in plain memory, published by a thread of this test ---- */

struct stage {
    struct sst *sst; /* only the fields that readers need */
    struct predicates predicates;
    uint8_t *row; /* of no member, all zeroes */
    int plain;    /* the plain memory that is published */
    _Atomic bool stop;
    void (*publish)(struct stage *stage);
    bool (*seen)(struct stage *stage);
};

static void stage_open(struct stage *stage, enum sst_design design)
{
    *stage = (struct stage){.sst = calloc(1, sizeof *stage->sst)};
    assert_non_null(stage->sst);
    assert_int_equal(owner_make(&stage->sst->owner), 0);
    stage->sst->config = config_of(design, 1);
    stage->sst->config.rows_max = SST_ROWS_MAX;
    test_table(&stage->sst->table, 1);
    stage->row = fake_row(&stage->sst->table.schema);
    assert_int_equal(predicates_init(&stage->predicates, &stage->sst->table), 0);
}

static void stage_close(struct stage *stage)
{
    predicates_fini(&stage->predicates);
    if (atomic_load(&stage->sst->table.rows[1]) != stage->row)
        free(stage->row);
    test_table_end(&stage->sst->table);
    free(stage->sst);
}

static void *stage_publish(void *argument)
{
    struct stage *stage = argument;
    stage->plain = 1;
    stage->publish(stage);
    return NULL;
}

static void stage_run(struct stage *stage, void (*publish)(struct stage *stage),
                      bool (*seen)(struct stage *stage))
{
    pthread_t thread;
    stage->publish = publish;
    assert_int_equal(pthread_create(&thread, NULL, stage_publish, stage), 0);
    while (!seen(stage))
        sched_yield();
    assert_int_equal(stage->plain, 1);
    atomic_store(&stage->stop, true);
    pthread_join(thread, NULL);
    stage_close(stage);
}

static uint32_t step_cell(const struct stage *stage)
{
    return stage->sst->table.schema.columns[STEP].cell;
}

/* With plain stores, like the code that prepares a row. */
static void row_fill(struct stage *stage)
{
    memcpy(stage->row + step_cell(stage), &(uint64_t){5}, sizeof(uint64_t));
}

static void show_row(struct stage *stage)
{
    row_fill(stage);
    atomic_store_explicit(&stage->sst->table.rows[1], stage->row, memory_order_release);
}

static void show_live(struct stage *stage)
{
    row_fill(stage);
    atomic_fetch_or_explicit(stage->sst->table.live, 2, memory_order_release);
}

static bool sum_is_5(struct stage *stage)
{
    return aggregate_sum_u64(&stage->sst->table, STEP) == 5;
}

static void aggregates_skip_rows_that_are_not_ready(void **state)
{
    struct stage stage;
    stage_open(&stage, SST_WRITES);
    atomic_fetch_or(stage.sst->table.live, 2);
    stage_run(&stage, show_row, sum_is_5);

    stage_open(&stage, SST_WRITES);
    atomic_store(&stage.sst->table.rows[1], stage.row);
    stage_run(&stage, show_live, sum_is_5);
}

static void put_cell(struct stage *stage)
{
    row_store(atomic_load_explicit(&stage->sst->table.rows[0], memory_order_relaxed),
              step_cell(stage), 7);
}

static bool cell_is_7(struct stage *stage)
{
    return table_cell(&stage->sst->table, 0, step_cell(stage)) == 7;
}

static bool word_is_7(struct stage *stage)
{
    return row_load(table_row(&stage->sst->table, 0), step_cell(stage)) == 7;
}

static void a_cell_publishes_what_was_written_before_it(void **state)
{
    struct stage stage;
    stage_open(&stage, SST_WRITES);
    stage_run(&stage, put_cell, cell_is_7);
    stage_open(&stage, SST_WRITES);
    stage_run(&stage, put_cell, word_is_7);
}

static void end_taking(struct stage *stage)
{
    atomic_store_explicit(&stage->sst->share.taking, 2, memory_order_release);
}

static bool looks_past_taking(struct stage *stage)
{
    bool over = atomic_load_explicit(&stage->sst->share.taking, memory_order_relaxed) == 2;
    return sst_sum_u64(stage->sst, STEP) == 0 && over;
}

static void show_view(struct stage *stage)
{
    atomic_store_explicit(&stage->sst->table.views, 2, memory_order_release);
}

static bool takes_snapshot(struct stage *stage)
{
    struct sst_snapshot *snapshot;
    int result = sst_snapshot_take(stage->sst, &snapshot);
    assert_true(result >= 0);
    sst_snapshot_free(snapshot);
    return result == 0;
}

static void reads_that_overlap_with_a_change_start_again(void **state)
{
    struct stage stage;
    stage_open(&stage, SST_READS);
    atomic_store(&stage.sst->share.taking, 1);
    stage_run(&stage, end_taking, looks_past_taking);

    stage_open(&stage, SST_WRITES);
    atomic_store(&stage.sst->table.views, 1);
    stage_run(&stage, show_view, takes_snapshot);
}

/* ---- triggers ---- */

static bool holds_always(const struct sst *sst, void *argument)
{
    return true;
}

/* Its second run lasts until the test has seen it. */
static void fire_and_stay(struct sst *sst, void *argument)
{
    struct stage *stage = argument;
    if (stage->predicates.fires == 2)
        while (!atomic_load_explicit(&stage->stop, memory_order_relaxed))
            sched_yield();
}

static void run_again(struct stage *stage)
{
    predicates_pass(&stage->predicates, stage->sst);
}

static bool runs_again(struct stage *stage)
{
    char name[SST_NAME_MAX];
    return predicates_running(&stage->predicates, name) == 3;
}

/* Its name is there since the first run: only the run's number is new. */
static void a_trigger_that_is_reported_running_has_begun(void **state)
{
    struct stage stage;
    stage_open(&stage, SST_WRITES);
    const struct sst_predicate predicate = {
        .name = "stays",
        .kind = SST_RECURRENT,
        .holds = holds_always,
        .fire = fire_and_stay,
        .argument = &stage,
    };
    assert_int_equal(predicates_add(&stage.predicates, &predicate, NULL), 0);
    predicates_pass(&stage.predicates, stage.sst);
    stage_run(&stage, run_again, runs_again);
}

/* ---- steps ---- */

static unsigned steps; /* plain: incremented by the thread that steps */

static void count_step(struct sst *sst, void *argument)
{
    steps++;
}

static void *step_often(void *argument)
{
    for (unsigned i = 0; i < 2000; i++) {
        int result = sst_step(argument, RIPC_NOW);
        assert_true(result >= 0 || result == -EBUSY);
        if (result < 0)
            sched_yield();
    }
    return NULL;
}

/* Steps never overlap: each thread sees what the previous step did. */
static void threads_step_one_at_a_time(void **state)
{
    struct sst_config config = config_of(SST_WRITES, 1);
    config.flags = SST_MANUAL;
    open_members(&member, 1, &config);
    const struct sst_predicate predicate = {
        .kind = SST_RECURRENT, .holds = holds_always, .fire = count_step};
    assert_int_equal(sst_predicate_add(member.sst, &predicate, NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, step_often, member.sst), 0);
    step_often(member.sst);
    pthread_join(thread, NULL);
    assert_true(steps > 0);
    close_member(&member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(every_word_of_a_view_publishes_the_view),
        SCENE(the_keeper_sees_what_the_detector_did),
        SCENE(aggregates_skip_rows_that_are_not_ready),
        SCENE(a_cell_publishes_what_was_written_before_it),
        SCENE(reads_that_overlap_with_a_change_start_again),
        SCENE(a_trigger_that_is_reported_running_has_begun),
        SCENE(threads_step_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
