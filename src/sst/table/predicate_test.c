/* predicate: which predicates are evaluated and fire, in which order, and how they may change
 * meanwhile. predicates_pass only hands `struct sst` on to the callbacks, so here it is the
 * scene. */
#include "sst/table/predicate.h"

#include <errno.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "sst/table/columns_test.h"

struct scene {
    struct table table;
    struct predicates predicates;
    unsigned evaluated;
    char fired[64]; /* a letter for each trigger that ran */
    uint64_t handles[8];
    unsigned count;
};

static struct scene *scene_of(const struct sst *sst)
{
    return (struct scene *)(uintptr_t)sst;
}

static int pass(struct scene *scene)
{
    return predicates_pass(&scene->predicates, (struct sst *)scene);
}

static void begin(struct scene *scene, uint32_t rows)
{
    *scene = (struct scene){0};
    test_table(&scene->table, rows);
    assert_int_equal(predicates_init(&scene->predicates, &scene->table), 0);
    predicates_rows_changed(&scene->predicates);
    pass(scene);
}

static void end(struct scene *scene)
{
    predicates_fini(&scene->predicates);
    test_table_end(&scene->table);
}

static void put(struct scene *scene, uint32_t row, uint32_t column, uint64_t word)
{
    row_store(atomic_load(&scene->table.rows[row]), scene->table.schema.columns[column].watch,
              word);
}

/* The argument is the step that every live row must have reached, as a pointer. */
static bool all_reached(const struct sst *sst, void *argument)
{
    struct scene *scene = scene_of(sst);
    scene->evaluated++;
    for (uint32_t row = 0; table_next_live(&scene->table, &row); row++)
        if (table_cell(&scene->table, row, scene->table.schema.columns[STEP].cell) <
            (uintptr_t)argument)
            return false;
    return true;
}

static void note(struct scene *scene, char letter)
{
    size_t length = strlen(scene->fired);
    assert_true(length + 1 < sizeof scene->fired);
    scene->fired[length] = letter;
}

static void fire_a(struct sst *sst, void *argument)
{
    note(scene_of(sst), 'a');
}

static void fire_b(struct sst *sst, void *argument)
{
    note(scene_of(sst), 'b');
}

static void fire_count(struct sst *sst, void *argument)
{
    scene_of(sst)->count++;
}

static uint64_t add(struct scene *scene, enum sst_kind kind, uintptr_t step, sst_fire *fire)
{
    uint64_t handle;
    uint32_t column = STEP;
    struct sst_predicate predicate = {
        .name = "reached",
        .kind = kind,
        .holds = all_reached,
        .fire = fire,
        .argument = (void *)step,
        .columns = &column,
        .column_count = 1,
    };
    assert_int_equal(predicates_add(&scene->predicates, &predicate, &handle), 0);
    return handle;
}

static void nothing_is_evaluated_while_named_columns_are_unchanged(void **state)
{
    struct scene scene;
    begin(&scene, 3);
    add(&scene, SST_RECURRENT, 1, fire_a);
    assert_int_equal(pass(&scene), 1); /* it was never evaluated */
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(pass(&scene), 0);
    put(&scene, 1, LEVEL, 5); /* a column it does not name */
    assert_int_equal(pass(&scene), 0);
    assert_false(predicates_are_due(&scene.predicates));
    put(&scene, 1, STEP, 5);
    assert_true(predicates_are_due(&scene.predicates));
    assert_int_equal(pass(&scene), 1);
    assert_int_equal(scene.evaluated, 2);
    assert_string_equal(scene.fired, "");
    end(&scene);
}

static void the_three_kinds_fire_as_specified(void **state)
{
    struct scene scene;
    begin(&scene, 2);
    add(&scene, SST_ONCE, 1, fire_a);
    add(&scene, SST_RECURRENT, 2, fire_b);
    uint64_t transition = add(&scene, SST_TRANSITION, 1, NULL);
    assert_int_equal(predicates_trigger(&scene.predicates, transition, fire_a, NULL), 0);
    assert_int_equal(predicates_trigger(&scene.predicates, transition, fire_b, NULL), 0);
    pass(&scene);
    put(&scene, 0, STEP, 1);
    put(&scene, 1, STEP, 1);
    pass(&scene); /* the SST_ONCE trigger, then the two of the transition in order */
    assert_string_equal(scene.fired, "aab");
    put(&scene, 0, STEP, 2);
    put(&scene, 1, STEP, 2);
    pass(&scene); /* the recurrent one; the transition held before */
    assert_string_equal(scene.fired, "aabb");
    put(&scene, 0, STEP, 3);
    pass(&scene);
    assert_string_equal(scene.fired, "aabbb");
    put(&scene, 0, STEP, 0); /* falls, which only a test may do */
    pass(&scene);
    put(&scene, 0, STEP, 1);
    pass(&scene);
    assert_string_equal(scene.fired, "aabbbab");
    end(&scene);
}

static bool always(const struct sst *sst, void *argument)
{
    scene_of(sst)->evaluated++;
    return true;
}

static void a_predicate_without_columns_is_evaluated_in_every_pass(void **state)
{
    struct scene scene;
    begin(&scene, 1);
    struct sst_predicate predicate = {.kind = SST_RECURRENT, .holds = always, .fire = fire_a};
    assert_int_equal(predicates_add(&scene.predicates, &predicate, &scene.handles[0]), 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pass(&scene), 1);
    assert_true(predicates_are_due(&scene.predicates));
    assert_string_equal(scene.fired, "aaaaa");
    assert_int_equal(predicates_remove(&scene.predicates, scene.handles[0]), 0);
    assert_int_equal(pass(&scene), 0);
    end(&scene);
}

static void remove_first(struct sst *sst, void *argument)
{
    struct scene *scene = scene_of(sst);
    note(scene, 'r');
    predicates_remove(&scene->predicates, scene->handles[(uintptr_t)argument]);
}

static void triggers_can_remove_any_predicate(void **state)
{
    struct scene scene;
    begin(&scene, 1);
    scene.handles[0] = add(&scene, SST_RECURRENT, 0, NULL);
    assert_int_equal(
        predicates_trigger(&scene.predicates, scene.handles[0], remove_first, (void *)0), 0);
    assert_int_equal(predicates_trigger(&scene.predicates, scene.handles[0], fire_a, NULL), 0);
    scene.handles[1] = add(&scene, SST_RECURRENT, 0, fire_b);
    scene.handles[2] = add(&scene, SST_TRANSITION, 0, NULL);
    assert_int_equal(
        predicates_trigger(&scene.predicates, scene.handles[2], remove_first, (void *)1), 0);
    pass(&scene); /* the first one removes itself before its second trigger; the third one removes
                     the second */
    assert_string_equal(scene.fired, "rbr");
    assert_int_equal(predicates_remove(&scene.predicates, scene.handles[0]), -ENOENT);
    assert_int_equal(predicates_remove(&scene.predicates, scene.handles[1]), -ENOENT);
    put(&scene, 0, STEP, 1);
    assert_int_equal(pass(&scene), 1); /* only the third is left */
    assert_int_equal(predicates_remove(&scene.predicates, scene.handles[2]), 0);
    put(&scene, 0, STEP, 2);
    assert_int_equal(pass(&scene), 0);
    end(&scene);
}

/* A new predicate, as every waiting thread adds one, does not make the others fire again. */
static void a_new_predicate_is_evaluated_alone(void **state)
{
    struct scene scene;
    begin(&scene, 1);
    add(&scene, SST_RECURRENT, 0, fire_a);
    assert_int_equal(pass(&scene), 1);
    add(&scene, SST_RECURRENT, 0, fire_b);
    assert_true(predicates_are_due(&scene.predicates));
    assert_int_equal(pass(&scene), 1);
    assert_string_equal(scene.fired, "ab");
    assert_false(predicates_are_due(&scene.predicates));
    assert_int_equal(pass(&scene), 0);
    end(&scene);
}

static void add_another(struct sst *sst, void *argument)
{
    struct scene *scene = scene_of(sst);
    note(scene, '+');
    if (strlen(scene->fired) < 20)
        add(scene, SST_ONCE, 0, add_another);
}

static void triggers_can_add_predicates(void **state)
{
    struct scene scene;
    begin(&scene, 1);
    add(&scene, SST_ONCE, 0, add_another);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(pass(&scene), 1); /* each is evaluated in the next pass */
    assert_int_equal(pass(&scene), 0);
    assert_int_equal(strlen(scene.fired), 20);
    end(&scene);
}

static void a_wide_column_counts_as_changed_once_complete(void **state)
{
    struct scene scene;
    begin(&scene, 2);
    uint32_t column = WIDE;
    struct sst_predicate predicate = {
        .kind = SST_RECURRENT, .holds = always, .columns = &column, .column_count = 1};
    assert_int_equal(predicates_add(&scene.predicates, &predicate, NULL), 0);
    assert_int_equal(pass(&scene), 1);
    put(&scene, 1, WIDE, 1); /* being written */
    assert_int_equal(pass(&scene), 0);
    put(&scene, 1, WIDE, 2);
    assert_int_equal(pass(&scene), 1);
    assert_int_equal(pass(&scene), 0);
    end(&scene);
}

static void a_change_of_the_live_rows_evaluates_all(void **state)
{
    struct scene scene;
    begin(&scene, 3);
    add(&scene, SST_TRANSITION, 1, fire_a);
    put(&scene, 0, STEP, 1);
    put(&scene, 1, STEP, 1);
    pass(&scene);
    assert_string_equal(scene.fired, "");
    atomic_store(&scene.table.live[0],
                 3); /* the third row, which had not reached the step, failed */
    predicates_rows_changed(&scene.predicates);
    assert_int_equal(pass(&scene), 1);
    assert_string_equal(scene.fired, "a");
    put(&scene, 2, STEP, 9); /* frozen rows are ignored */
    assert_int_equal(pass(&scene), 0);
    end(&scene);
}

static void invalid_predicates_are_refused(void **state)
{
    struct scene scene;
    begin(&scene, 1);
    uint32_t column = TEST_COLUMNS;
    struct sst_predicate predicate = {
        .kind = SST_ONCE, .holds = always, .columns = &column, .column_count = 1};
    assert_int_equal(predicates_add(&scene.predicates, &predicate, NULL), -EINVAL);
    column = STEP;
    predicate.kind = 4;
    assert_int_equal(predicates_add(&scene.predicates, &predicate, NULL), -EINVAL);
    predicate.kind = SST_ONCE;
    predicate.holds = NULL;
    assert_int_equal(predicates_add(&scene.predicates, &predicate, NULL), -EINVAL);
    assert_int_equal(predicates_trigger(&scene.predicates, 99, fire_a, NULL), -ENOENT);
    end(&scene);
}

static void name_running(struct sst *sst, void *argument)
{
    struct scene *scene = scene_of(sst);
    char name[SST_NAME_MAX];
    scene->handles[7] = predicates_running(&scene->predicates, name);
    assert_string_equal(name, "reached");
}

static void the_running_trigger_is_known(void **state)
{
    struct scene scene;
    char name[SST_NAME_MAX];
    begin(&scene, 1);
    add(&scene, SST_ONCE, 0, name_running);
    pass(&scene);
    assert_true(scene.handles[7] & 1);
    assert_int_equal(predicates_running(&scene.predicates, name), 0);
    end(&scene);
}

/* Makes random changes, and compares with a brute force that evaluates all predicates every time:
 * the transitions must fire equally often. */
static void transitions_agree_with_brute_force(void **state)
{
    uint64_t seed = 7;
    struct scene scene;
    unsigned expected = 0;
    bool held[8] = {false};
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    begin(&scene, 5);
    for (uintptr_t step = 1; step <= 8; step++)
        add(&scene, SST_TRANSITION, step, fire_count);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t random = rng_next(&rng);
        put(&scene, random % 5, STEP, (random >> 8) % 10);
        scene.evaluated = 0;
        pass(&scene);
        for (uintptr_t step = 1; step <= 8; step++) {
            bool holds = all_reached((struct sst *)&scene, (void *)step);
            expected += holds && !held[step - 1];
            held[step - 1] = holds;
        }
    }
    print_message("# %u transitions, %llu evaluations\n", expected,
                  (unsigned long long)scene.predicates.evaluations);
    assert_int_equal(scene.count, expected);
    assert_true(expected > 100);
    end(&scene);
}

#define CROWD 4096

static bool any_beyond(const struct sst *sst, void *argument)
{
    struct scene *scene = scene_of(sst);
    for (uint32_t row = 0; table_next_live(&scene->table, &row); row++)
        if (table_cell(&scene->table, row, scene->table.schema.columns[LEVEL].cell) >
            (uintptr_t)argument)
            return true;
    return false;
}

/* Two equal tables of thousands of rows get the same random changes. `whole` compares every row;
 * `told` receives the list of changed rows. Both must evaluate and fire the same. */
struct twins {
    struct scene whole, told;
    uint32_t changed[8];
    uint32_t changed_count;
};

static void twins_put(struct twins *twins, uint32_t row, uint32_t column, uint64_t word)
{
    put(&twins->whole, row, column, word);
    put(&twins->told, row, column, word);
    twins->changed[twins->changed_count++] = row;
}

static void twins_live(struct twins *twins, uint32_t row)
{
    struct scene *both[] = {&twins->whole, &twins->told};
    for (unsigned i = 0; i < 2; i++) {
        atomic_fetch_xor(&both[i]->table.live[bitset_word(row)], bitset_bit(row));
        predicates_rows_changed(&both[i]->predicates);
    }
}

static void twins_add(struct twins *twins, sst_holds *holds, uint32_t column, uintptr_t argument)
{
    struct scene *both[] = {&twins->whole, &twins->told};
    for (unsigned i = 0; i < 2; i++) {
        struct sst_predicate predicate = {.kind = SST_TRANSITION,
                                          .holds = holds,
                                          .fire = fire_count,
                                          .argument = (void *)argument,
                                          .columns = &column,
                                          .column_count = 1};
        assert_int_equal(predicates_add(&both[i]->predicates, &predicate, NULL), 0);
    }
}

static void twins_turn(struct twins *twins, struct rng *rng)
{
    twins->changed_count = 0;
    uint64_t changes = rng_below(rng, 5);
    for (uint64_t i = 0; i < changes; i++) {
        uint32_t row = rng_below(rng, 2) ? (uint32_t)rng_below(rng, CROWD) : 77;
        if (rng_below(rng, 2))
            twins_put(twins, row, LEVEL, rng_below(rng, 12));
        else
            twins_put(twins, row, WIDE, rng_below(rng, 6));
    }
    if (rng_below(rng, 50) == 0)
        twins_live(twins, rng_below(rng, 2) ? 77 : (uint32_t)rng_below(rng, CROWD));
    int whole = pass(&twins->whole);
    int told = predicates_pass_rows(&twins->told.predicates, (struct sst *)&twins->told,
                                    twins->changed, twins->changed_count);
    assert_int_equal(told, whole);
}

static void a_pass_over_changed_rows_equals_a_full_pass(void **state)
{
    uint64_t seed = 11;
    struct rng rng = rng_make(seed, 0);
    struct twins *twins = calloc(1, sizeof *twins);
    assert_non_null(twins);
    print_message("# seed %llu\n", (unsigned long long)seed);
    begin(&twins->whole, CROWD);
    begin(&twins->told, CROWD);
    assert_int_equal(twins->told.predicates.live_count, CROWD);
    for (uintptr_t level = 8; level < 11; level++)
        twins_add(twins, any_beyond, LEVEL, level);
    twins_add(twins, always, WIDE, 0);
    for (unsigned i = 0; i < 600; i++)
        twins_turn(twins, &rng);
    assert_int_equal(twins->told.count, twins->whole.count);
    assert_true(twins->told.count > 1);
    assert_int_equal(twins->told.predicates.evaluations, twins->whole.predicates.evaluations);
    assert_true(twins->told.predicates.evaluations > 300);
    end(&twins->whole);
    end(&twins->told);
    free(twins);
}

static void a_pass_over_given_rows_checks_no_others(void **state)
{
    struct scene scene;
    begin(&scene, 300);
    add(&scene, SST_RECURRENT, 1, fire_a);
    pass(&scene);
    put(&scene, 7, STEP, 1);
    put(&scene, 299, STEP, 1);
    struct sst *sst = (struct sst *)&scene;
    assert_int_equal(predicates_pass_rows(&scene.predicates, sst, (uint32_t[]){8}, 1), 0);
    assert_int_equal(predicates_pass_rows(&scene.predicates, sst, (uint32_t[]){299, 8, 299}, 3), 1);
    assert_int_equal(pass(&scene), 1); /* row 7 */
    assert_int_equal(pass(&scene), 0);
    atomic_store(&scene.table.live[4], 0); /* 256 .. 299 */
    predicates_rows_changed(&scene.predicates);
    assert_int_equal(pass(&scene), 1);
    put(&scene, 299, STEP, 2);
    assert_int_equal(predicates_pass_rows(&scene.predicates, sst, (uint32_t[]){299}, 1), 0);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_evaluated_while_named_columns_are_unchanged),
        cmocka_unit_test(the_three_kinds_fire_as_specified),
        cmocka_unit_test(a_predicate_without_columns_is_evaluated_in_every_pass),
        cmocka_unit_test(triggers_can_remove_any_predicate),
        cmocka_unit_test(a_new_predicate_is_evaluated_alone),
        cmocka_unit_test(triggers_can_add_predicates),
        cmocka_unit_test(a_wide_column_counts_as_changed_once_complete),
        cmocka_unit_test(a_change_of_the_live_rows_evaluates_all),
        cmocka_unit_test(invalid_predicates_are_refused),
        cmocka_unit_test(the_running_trigger_is_known),
        cmocka_unit_test(transitions_agree_with_brute_force),
        cmocka_unit_test(a_pass_over_changed_rows_equals_a_full_pass),
        cmocka_unit_test(a_pass_over_given_rows_checks_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
