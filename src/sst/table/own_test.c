/* own: a put copies the image to the row and to the members, in whole words and in the order that
 * row.h guarantees. Here a member is a second row with counters of what it receives. */
#include "sst/table/own.h"

#include <errno.h>

#include "base/rng.h"
#include "sst/table/columns_test.h"

struct mirror {
    struct row_spread spread;
    uint8_t *row; /* the member's copy */
    const struct own *own;
    unsigned sets, changes;
};

static void mirror_set(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                       const struct sst_rows *to)
{
    struct mirror *mirror = (struct mirror *)spread;
    row_set(mirror->row, cell, word, sequence);
    mirror->sets++;
}

static void mirror_change(struct row_spread *spread, const struct change *change,
                          const struct sst_rows *to)
{
    struct mirror *mirror = (struct mirror *)spread;
    row_change(mirror->row, mirror->own->row, change);
    mirror->changes++;
}

static const struct row_spread_ops mirror_ops = {
    .name = "mirror", .set = mirror_set, .change = mirror_change};

struct scene {
    struct schema schema;
    struct own own;
    struct mirror mirror;
    struct test_row *image;
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){.mirror.spread.ops = &mirror_ops};
    test_schema(&scene->schema);
    uint32_t size = scene->schema.row_size;
    uint8_t *row = aligned_alloc(SCHEMA_LINE, size);
    scene->mirror.row = aligned_alloc(SCHEMA_LINE, size);
    assert_true(row && scene->mirror.row);
    memset(row, 0, size);
    memset(scene->mirror.row, 0, size);
    assert_int_equal(own_init(&scene->own, &scene->schema, row, &scene->mirror.spread), 0);
    scene->mirror.own = &scene->own;
    scene->image = (struct test_row *)scene->own.image;
}

static void end(struct scene *scene)
{
    free(scene->own.row);
    free(scene->mirror.row);
    own_fini(&scene->own);
}

static uint64_t cell(const struct scene *scene, const uint8_t *row, uint32_t column)
{
    return row_load(row, scene->schema.columns[column].cell);
}

static void numbers_reach_row_image_and_member(void **state)
{
    struct scene scene;
    begin(&scene);
    uint64_t word;
    assert_int_equal(schema_cell_i64(&scene.schema.columns[LEVEL], -7, &word), 0);
    assert_int_equal(own_set(&scene.own, LEVEL, word), 0);
    assert_int_equal(scene.image->level, -7);
    assert_int_equal((int64_t)cell(&scene, scene.own.row, LEVEL), -7);
    assert_int_equal((int64_t)cell(&scene, scene.mirror.row, LEVEL), -7);
    assert_int_equal(row_load(scene.mirror.row, ROW_SEQUENCE), 2);
    own_set_head(&scene.own, ROW_BARRIER, 9);
    assert_int_equal(row_load(scene.mirror.row, ROW_BARRIER), 9);
    assert_int_equal(row_load(scene.mirror.row, ROW_SEQUENCE), 4);
    end(&scene);
}

static void a_growing_column_refuses_smaller_numbers(void **state)
{
    struct scene scene;
    begin(&scene);
    assert_int_equal(own_set(&scene.own, STEP, 5), 0);
    assert_int_equal(own_set(&scene.own, STEP, 4), -ERANGE);
    assert_int_equal(own_set(&scene.own, STEP, 5), 0);
    scene.image->step = 3;
    scene.image->level = 1;
    struct sst_range both[] = {{.column = LEVEL}, {.column = STEP}};
    assert_int_equal(own_put(&scene.own, both, 2, OWN_NO_GUARD, 0, NULL), -ERANGE);
    assert_int_equal(cell(&scene, scene.mirror.row, LEVEL), 0); /* nothing was put */
    assert_int_equal(own_put(&scene.own, both, 1, GUARD, 8, NULL), 16);
    assert_int_equal(own_put(&scene.own, both, 1, GUARD, 7, NULL), -ERANGE);
    end(&scene);
}

static void invalid_ranges_are_refused(void **state)
{
    struct scene scene;
    begin(&scene);
    struct sst_range wrong[] = {
        {.column = TEST_COLUMNS},
        {.column = WIDE, .first = 100},
        {.column = WIDE, .first = 99, .count = 2},
        {.column = WIDE, .first = 1, .count = UINT32_MAX},
        {.column = STEP, .first = 1},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(own_put(&scene.own, &wrong[i], 1, OWN_NO_GUARD, 0, NULL), -EINVAL);
    assert_int_equal(own_put(&scene.own, NULL, 0, OWN_NO_GUARD, 0, NULL), -EINVAL);
    assert_int_equal(own_put(&scene.own, NULL, 0, WIDE, 1, NULL), -EINVAL);
    assert_int_equal(scene.mirror.changes, 0);
    end(&scene);
}

/* Converts the member's row to a struct. */
static struct test_row unpacked(const struct scene *scene)
{
    struct test_row out = {0};
    for (uint32_t i = 0; i < TEST_COLUMNS; i++) {
        const struct schema_column *column = &scene->schema.columns[i];
        uint8_t *field = (uint8_t *)&out + column->offset;
        if (schema_is_number(column))
            schema_narrow(column, row_load(scene->mirror.row, column->cell), field);
        else
            assert_true(
                row_read(scene->mirror.row, column->watch, column->cell, column->size, field));
    }
    return out;
}

/* Puts random ranges, and compares with a plain struct that receives the same bytes. */
static void ranges_arrive_as_they_were_put(void **state)
{
    uint64_t seed = 42;
    struct scene scene;
    struct test_row expected = {0};
    struct rng rng = rng_make(seed, 0);
    begin(&scene);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t random = rng_next(&rng);
        uint32_t column = random % 2 ? WIDE : TAG;
        uint32_t total = column == WIDE ? 100 : 5;
        uint32_t first = (uint32_t)(random >> 8) % total;
        uint32_t count = (uint32_t)(random >> 24) % (total - first + 1);
        for (uint32_t k = 0; k < 100; k++)
            scene.image->wide[k] = (uint32_t)rng_next(&rng);
        for (uint32_t k = 0; k < 5; k++)
            scene.image->tag[k] = (uint8_t)rng_next(&rng);
        struct sst_range range = {.column = column, .first = first, .count = count};
        assert_true(own_put(&scene.own, &range, 1, GUARD, i, NULL) > 0);
        uint32_t all = count ? count : total - first;
        if (column == WIDE)
            memcpy(&expected.wide[first], &scene.image->wide[first], all * sizeof(uint32_t));
        else
            memcpy(&expected.tag[first], &scene.image->tag[first], all);
        expected.guard = i;
        struct test_row got = unpacked(&scene);
        assert_memory_equal(got.wide, expected.wide, sizeof got.wide);
        assert_memory_equal(got.tag, expected.tag, sizeof got.tag);
        assert_int_equal(got.guard, expected.guard);
        assert_memory_equal(scene.mirror.row, scene.own.row, scene.schema.row_size);
    }
    end(&scene);
}

static void a_column_that_is_being_written_is_not_read(void **state)
{
    struct scene scene;
    uint32_t out[100];
    begin(&scene);
    const struct schema_column *wide = &scene.schema.columns[WIDE];
    assert_true(row_read(scene.own.row, wide->watch, wide->cell, wide->size, out));
    row_store(scene.own.row, wide->watch, 3);
    assert_false(row_read(scene.own.row, wide->watch, wide->cell, wide->size, out));
    row_store(scene.own.row, wide->watch, 4);
    assert_true(row_read(scene.own.row, wide->watch, wide->cell + 4, 8, out));
    end(&scene);
}

static void a_copied_row_is_equal(void **state)
{
    struct scene scene;
    begin(&scene);
    for (unsigned i = 0; i < 100; i++)
        scene.image->wide[i] = i * i;
    struct sst_range ranges[] = {{.column = WIDE}, {.column = TAG}, {.column = LOAD}};
    scene.image->load = 2.5;
    assert_true(own_put(&scene.own, ranges, 3, GUARD, 77, NULL) > 0);
    own_set_head(&scene.own, ROW_ASLEEP, 1);
    memset(scene.mirror.row, 0, scene.schema.row_size);
    row_copy(scene.mirror.row, scene.own.row, &scene.schema);
    assert_memory_equal(scene.mirror.row, scene.own.row, scene.schema.row_size);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_reach_row_image_and_member),
        cmocka_unit_test(a_growing_column_refuses_smaller_numbers),
        cmocka_unit_test(invalid_ranges_are_refused),
        cmocka_unit_test(ranges_arrive_as_they_were_put),
        cmocka_unit_test(a_column_that_is_being_written_is_not_read),
        cmocka_unit_test(a_copied_row_is_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
