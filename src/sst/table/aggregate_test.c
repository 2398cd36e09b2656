/* Compares aggregates of random tables with sums and comparisons in long double, which represents
 * every cell exactly. */
#include "sst/table/aggregate.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"

static_assert(LDBL_MANT_DIG >= 64, "the oracle holds 64-bit integers");

/* One column of each type of number, one of them a guard. */
struct fields {
    uint64_t u64;
    int64_t i64;
    double f64;
    uint32_t u32;
    int32_t i32;
    float f32;
    uint16_t u16;
    int16_t i16;
    uint8_t u8;
    int8_t i8;
    bool flag;
    uint64_t wide[9];
};

static const struct sst_column columns[] = {
    SST_COLUMN(struct fields, u64, SST_U64, 0),         SST_COLUMN(struct fields, i64, SST_I64, 0),
    SST_COLUMN(struct fields, f64, SST_F64, 0),         SST_COLUMN(struct fields, u32, SST_U32, 0),
    SST_COLUMN(struct fields, i32, SST_I32, SST_GUARD), SST_COLUMN(struct fields, f32, SST_F32, 0),
    SST_COLUMN(struct fields, u16, SST_U16, 0),         SST_COLUMN(struct fields, i16, SST_I16, 0),
    SST_COLUMN(struct fields, u8, SST_U8, 0),           SST_COLUMN(struct fields, i8, SST_I8, 0),
    SST_COLUMN(struct fields, flag, SST_BOOL, 0),       SST_COLUMN(struct fields, wide, SST_U64, 0),
};

#define NUMBERS (sizeof columns / sizeof columns[0] - 1)

struct fixture {
    struct table table;
    uint8_t *memory; /* of all rows */
};

static void fixture_open(struct fixture *fixture)
{
    struct schema schema;
    struct why why = {{0}};
    if (schema_make(&schema, columns, NUMBERS + 1, sizeof(struct fields), &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(table_init(&fixture->table, &schema, SST_ROWS_MAX), 0);
    fixture->memory = aligned_alloc(SCHEMA_LINE, (size_t)SST_ROWS_MAX * schema.row_size);
    assert_non_null(fixture->memory);
    memset(fixture->memory, 0, (size_t)SST_ROWS_MAX * schema.row_size);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        atomic_store_explicit(&fixture->table.rows[row],
                              fixture->memory + (size_t)row * schema.row_size,
                              memory_order_release);
}

static void fixture_close(struct fixture *fixture)
{
    table_fini(&fixture->table);
    free(fixture->memory);
}

static void set_live(struct fixture *fixture, uint32_t row, bool live)
{
    uint64_t bit = bitset_bit(row);
    if (live)
        atomic_fetch_or(&fixture->table.live[bitset_word(row)], bit);
    else
        atomic_fetch_and(&fixture->table.live[bitset_word(row)], ~bit);
}

static void set_cell(struct fixture *fixture, uint32_t row, uint32_t column, uint64_t cell)
{
    uint8_t *at = fixture->table.rows[row] + fixture->table.schema.columns[column].cell;
    memcpy(at, &cell, sizeof cell);
}

/* ---- numbers ---- */

static uint64_t random_u64(struct rng *rng)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     INT64_MAX,
                                     (uint64_t)INT64_MAX + 1,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     INT64_MAX - 1,
                                     1ull << 53,
                                     (1ull << 53) + 1,
                                     (1ull << 53) - 1,
                                     1ull << 32};
    switch (rng_below(rng, 4)) {
    case 0:
        return edges[rng_below(rng, sizeof edges / sizeof edges[0])];
    case 1:
        return rng_below(rng, 4);
    case 2:
        return (uint64_t) - (int64_t)rng_below(rng, 4);
    default:
        return rng_next(rng) >> rng_below(rng, 64);
    }
}

static double random_f64(struct rng *rng)
{
    static const double edges[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   -0.5,
                                   2.5,
                                   DBL_MAX,
                                   -DBL_MAX,
                                   DBL_MIN,
                                   -DBL_TRUE_MIN,
                                   INFINITY,
                                   -INFINITY,
                                   9223372036854775808.0,
                                   -9223372036854775808.0,
                                   9223372036854774784.0,
                                   18446744073709551616.0,
                                   18446744073709549568.0,
                                   -9223372036854777856.0};
    switch (rng_below(rng, 4)) {
    case 0:
        return edges[rng_below(rng, sizeof edges / sizeof edges[0])];
    case 1:
        return rng_below(rng, 8) ? (double)(int64_t)random_u64(rng) : (double)NAN;
    case 2:
        return (double)random_u64(rng);
    default:
        return (rng_unit(rng) - 0.5) * 8;
    }
}

static uint64_t random_cell(struct rng *rng, const struct schema_column *column)
{
    uint8_t field[8] = {0};
    uint64_t bits = random_u64(rng);
    if (column->type == SST_F64)
        return schema_bits(random_f64(rng));
    if (column->type == SST_F32)
        return schema_bits((float)random_f64(rng));
    memcpy(field, &bits, SST_SIZE(column->type));
    return schema_widen(column, field);
}

static long double exact(const struct schema_column *column, uint64_t cell)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return (long double)cell;
    case SCHEMA_SIGNED:
        return (long double)(int64_t)cell;
    case SCHEMA_FLOAT:
        return (long double)schema_double(cell);
    }
    return 0;
}

static uint64_t nearest_u64(long double value)
{
    if (!(value > 0))
        return 0;
    return value >= 18446744073709551616.0L ? UINT64_MAX : (uint64_t)value;
}

static int64_t nearest_i64(long double value)
{
    if (isnan(value))
        return 0;
    if (value >= 9223372036854775808.0L)
        return INT64_MAX;
    return value <= -9223372036854775808.0L ? INT64_MIN : (int64_t)value;
}

/* Asserts that both are equal, or both NaN. */
static void assert_double(double one, double other)
{
    if (isnan(other) ? !isnan(one) : one != other)
        fail_msg("%.17g is not %.17g", one, other);
}

/* ---- brute force over all rows ---- */

struct oracle {
    const struct schema_column *column;
    uint32_t live;
    uint32_t counted; /* live rows that are not NaN */
    long double least, largest;
    double sum;       /* of floats, in row order */
    uint64_t sum_low; /* of integers, modulo 2^64 */
    long double parts[2];
    bool equal;
    uint64_t cells[SST_ROWS_MAX];
};

static void oracle_ask(struct oracle *oracle, const struct table *table, uint32_t column)
{
    *oracle = (struct oracle){.column = &table->schema.columns[column], .equal = true};
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        if (!table_is_live(table, row))
            continue;
        uint64_t cell = table_cell(table, row, oracle->column->cell);
        long double number = exact(oracle->column, cell);
        oracle->cells[oracle->live++] = cell;
        oracle->equal = oracle->equal && number == exact(oracle->column, oracle->cells[0]);
        oracle->sum_low += cell;
        if (schema_kind(oracle->column) == SCHEMA_FLOAT) {
            oracle->sum += (double)number;
        } else { /* two exact sums: of the lower halves, and of the rest */
            oracle->parts[0] += cell & UINT32_MAX;
            oracle->parts[1] += number - (long double)(cell & UINT32_MAX);
        }
        if (isnan(number))
            continue;
        if (!oracle->counted || number < oracle->least)
            oracle->least = number;
        if (!oracle->counted || number > oracle->largest)
            oracle->largest = number;
        oracle->counted++;
    }
}

static uint32_t oracle_count(const struct oracle *oracle, long double value)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < oracle->live; i++)
        count += exact(oracle->column, oracle->cells[i]) >= value;
    return count;
}

static void check_extremes(const struct oracle *oracle, const struct table *table, uint32_t column)
{
    bool some = oracle->counted > 0;
    assert_int_equal(aggregate_minimum_u64(table, column),
                     some ? nearest_u64(oracle->least) : UINT64_MAX);
    assert_int_equal(aggregate_minimum_i64(table, column),
                     some ? nearest_i64(oracle->least) : INT64_MAX);
    assert_double(aggregate_minimum_f64(table, column), some ? (double)oracle->least : INFINITY);
    assert_int_equal(aggregate_maximum_u64(table, column), some ? nearest_u64(oracle->largest) : 0);
    assert_int_equal(aggregate_maximum_i64(table, column),
                     some ? nearest_i64(oracle->largest) : INT64_MIN);
    assert_double(aggregate_maximum_f64(table, column), some ? (double)oracle->largest : -INFINITY);
}

static void check_sums(const struct oracle *oracle, const struct table *table, uint32_t column)
{
    if (schema_kind(oracle->column) == SCHEMA_FLOAT) {
        assert_int_equal(aggregate_sum_u64(table, column), nearest_u64((long double)oracle->sum));
        assert_int_equal(aggregate_sum_i64(table, column), nearest_i64((long double)oracle->sum));
        assert_double(aggregate_sum_f64(table, column), oracle->sum);
        return;
    }
    assert_int_equal(aggregate_sum_u64(table, column), oracle->sum_low);
    assert_int_equal(aggregate_sum_i64(table, column), (int64_t)oracle->sum_low);
    long double sum = oracle->parts[0] + oracle->parts[1]; /* rounded once, to at least 64 bits */
    double got = aggregate_sum_f64(table, column);
    assert_true(fabsl((long double)got - sum) <= fabsl(sum) * 0x1p-53L);
}

static void check_thresholds(const struct oracle *oracle, const struct table *table,
                             uint32_t column, struct rng *rng)
{
    for (unsigned try = 0; try < 4; try++) {
        uint64_t u64 = random_u64(rng);
        int64_t i64 = (int64_t)random_u64(rng);
        double f64 = random_f64(rng);
        if (try < 2 && oracle->live) { /* a value in the table, and its neighbours */
            uint64_t cell = oracle->cells[rng_below(rng, oracle->live)];
            u64 = cell_u64(oracle->column, cell) + rng_below(rng, 3) - 1;
            i64 = (int64_t)((uint64_t)cell_i64(oracle->column, cell) + rng_below(rng, 3) - 1);
            f64 = cell_f64(oracle->column, cell);
        }
        uint32_t count = oracle_count(oracle, (long double)u64);
        assert_int_equal(aggregate_count_u64(table, column, u64), count);
        assert_int_equal(aggregate_all_at_least_u64(table, column, u64), count == oracle->live);
        count = oracle_count(oracle, (long double)i64);
        assert_int_equal(aggregate_count_i64(table, column, i64), count);
        assert_int_equal(aggregate_all_at_least_i64(table, column, i64), count == oracle->live);
        count = oracle_count(oracle, (long double)f64);
        assert_int_equal(aggregate_count_f64(table, column, f64), count);
        assert_int_equal(aggregate_all_at_least_f64(table, column, f64), count == oracle->live);
    }
}

static void check_all(const struct table *table, struct rng *rng)
{
    for (uint32_t column = 0; column < NUMBERS; column++) {
        struct oracle oracle;
        oracle_ask(&oracle, table, column);
        check_extremes(&oracle, table, column);
        check_sums(&oracle, table, column);
        check_thresholds(&oracle, table, column, rng);
        assert_int_equal(aggregate_all_equal(table, column), oracle.equal);
    }
}

static void random_tables_agree_with_brute_force(void **state)
{
    const uint64_t seed = 1234;
    struct rng rng = rng_make(seed, 0);
    struct fixture fixture;
    print_message("# seed %llu\n", (unsigned long long)seed);
    fixture_open(&fixture);
    for (unsigned round = 0; round < 3000; round++) {
        uint32_t rows = 1 + (uint32_t)rng_below(&rng, rng_below(&rng, 3) ? 8 : SST_ROWS_MAX);
        bool same = rng_below(&rng, 8) == 0;
        uint64_t live_of_8 = rng_below(&rng, 9);
        for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
            set_live(&fixture, row, row < rows && rng_below(&rng, 8) < live_of_8);
        for (uint32_t column = 0; column < NUMBERS; column++) {
            uint64_t cell = random_cell(&rng, &fixture.table.schema.columns[column]);
            for (uint32_t row = 0; row < rows; row++) {
                if (!same || !table_is_live(&fixture.table, row))
                    cell = random_cell(&rng, &fixture.table.schema.columns[column]);
                set_cell(&fixture, row, column, cell);
            }
        }
        check_all(&fixture.table, &rng);
    }
    fixture_close(&fixture);
}

/* ---- hand-made cases ---- */

enum { U64, I64, F64, FLAG = 10 };

static void aggregates_of_no_live_row_are_neutral(void **state)
{
    struct fixture fixture;
    const struct table *table = &fixture.table;
    fixture_open(&fixture);
    for (uint32_t column = 0; column < NUMBERS; column++) {
        set_cell(&fixture, 0, column, 7); /* not live: must not count */
        assert_int_equal(aggregate_minimum_u64(table, column), UINT64_MAX);
        assert_int_equal(aggregate_minimum_i64(table, column), INT64_MAX);
        assert_double(aggregate_minimum_f64(table, column), INFINITY);
        assert_int_equal(aggregate_maximum_u64(table, column), 0);
        assert_int_equal(aggregate_maximum_i64(table, column), INT64_MIN);
        assert_double(aggregate_maximum_f64(table, column), -INFINITY);
        assert_int_equal(aggregate_sum_u64(table, column), 0);
        assert_int_equal(aggregate_sum_i64(table, column), 0);
        assert_double(aggregate_sum_f64(table, column), 0);
        assert_true(aggregate_all_at_least_u64(table, column, UINT64_MAX));
        assert_true(aggregate_all_at_least_f64(table, column, NAN));
        assert_int_equal(aggregate_count_i64(table, column, INT64_MIN), 0);
        assert_true(aggregate_all_equal(table, column));
    }
    fixture_close(&fixture);
}

static void a_frozen_row_is_ignored(void **state)
{
    struct fixture fixture;
    const struct table *table = &fixture.table;
    fixture_open(&fixture);
    for (uint32_t row = 0; row < 100; row++) {
        set_live(&fixture, row, true);
        set_cell(&fixture, row, U64, 10 + row);
    }
    assert_int_equal(aggregate_minimum_u64(table, U64), 10);
    assert_int_equal(aggregate_maximum_u64(table, U64), 109);
    assert_int_equal(aggregate_count_u64(table, U64, 60), 50);
    set_live(&fixture, 0, false);
    set_live(&fixture, 99, false);
    assert_int_equal(aggregate_minimum_u64(table, U64), 11);
    assert_int_equal(aggregate_maximum_u64(table, U64), 108);
    assert_int_equal(aggregate_count_u64(table, U64, 60), 49);
    assert_true(aggregate_all_at_least_u64(table, U64, 11));
    assert_false(aggregate_all_at_least_u64(table, U64, 12));
    assert_int_equal(table_cell(table, 99, table->schema.columns[U64].cell), 109);
    fixture_close(&fixture);
}

static void numbers_of_different_types_compare_by_value(void **state)
{
    struct fixture fixture;
    const struct table *table = &fixture.table;
    fixture_open(&fixture);
    set_live(&fixture, 3, true);
    set_cell(&fixture, 3, I64, (uint64_t)-1);
    assert_false(aggregate_all_at_least_u64(table, I64, 0));
    assert_true(aggregate_all_at_least_i64(table, I64, -1));
    assert_true(aggregate_all_at_least_f64(table, I64, -1.5));
    assert_false(aggregate_all_at_least_f64(table, I64, -0.5));
    set_cell(&fixture, 3, U64,
             (UINT64_C(1) << 53) + 1); /* a conversion to double would round it down by one */
    assert_false(aggregate_all_at_least_f64(table, U64, 0x1p53 + 2));
    assert_true(aggregate_all_at_least_f64(table, U64, 0x1p53));
    set_cell(&fixture, 3, F64, schema_bits(0x1p53));
    assert_false(aggregate_all_at_least_u64(table, F64, (UINT64_C(1) << 53) + 1));
    set_cell(&fixture, 3, F64, schema_bits(-0x1p53));
    assert_true(aggregate_all_at_least_i64(table, F64, -(INT64_C(1) << 53) - 1));
    set_cell(&fixture, 3, F64, schema_bits(-0x1p53 - 2));
    assert_false(aggregate_all_at_least_i64(table, F64, -(INT64_C(1) << 53) - 1));
    fixture_close(&fixture);
}

static void nan_is_not_at_least_any_number(void **state)
{
    struct fixture fixture;
    const struct table *table = &fixture.table;
    fixture_open(&fixture);
    set_live(&fixture, 0, true);
    set_live(&fixture, 255, true);
    set_cell(&fixture, 0, F64, schema_bits(NAN));
    set_cell(&fixture, 255, F64, schema_bits(-3));
    assert_double(aggregate_minimum_f64(table, F64), -3);
    assert_double(aggregate_maximum_f64(table, F64), -3);
    assert_double(aggregate_sum_f64(table, F64), NAN);
    assert_int_equal(aggregate_count_f64(table, F64, -INFINITY), 1);
    assert_int_equal(aggregate_count_f64(table, F64, NAN), 0);
    assert_int_equal(aggregate_count_f64(table, U64, NAN), 0);
    assert_false(aggregate_all_at_least_f64(table, F64, -INFINITY));
    assert_false(aggregate_all_at_least_f64(table, U64, NAN));
    assert_false(aggregate_all_equal(table, F64));
    set_cell(&fixture, 0, F64, schema_bits(0.0));
    set_cell(&fixture, 255, F64, schema_bits(-0.0));
    assert_true(aggregate_all_equal(table, F64));
    fixture_close(&fixture);
}

static void sums_do_not_overflow(void **state)
{
    struct fixture fixture;
    const struct table *table = &fixture.table;
    fixture_open(&fixture);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        set_live(&fixture, row, true);
        set_cell(&fixture, row, U64, UINT64_MAX);
        set_cell(&fixture, row, I64, (uint64_t)INT64_MIN);
        set_cell(&fixture, row, FLAG, row % 2);
    }
    assert_int_equal(aggregate_sum_u64(table, U64), (uint64_t)-256);
    assert_double(aggregate_sum_f64(table, U64), 0x1p72);
    assert_int_equal(aggregate_sum_i64(table, I64), 0);
    assert_double(aggregate_sum_f64(table, I64), -0x1p71);
    assert_int_equal(aggregate_sum_u64(table, FLAG), 128);
    assert_int_equal(aggregate_count_u64(table, FLAG, 1), 128);
    fixture_close(&fixture);
}

static void cells_convert_to_the_nearest_value(void **state)
{
    const struct schema_column is_u64 = {.type = SST_U64}, is_i64 = {.type = SST_I64},
                               is_f64 = {.type = SST_F64};
    assert_int_equal(cell_i64(&is_u64, UINT64_MAX), INT64_MAX);
    assert_int_equal(cell_u64(&is_i64, (uint64_t)-5), 0);
    assert_double(cell_f64(&is_i64, (uint64_t)-5), -5);
    assert_double(cell_f64(&is_u64, UINT64_MAX), 0x1p64);
    assert_int_equal(cell_u64(&is_f64, schema_bits(2.9)), 2);
    assert_int_equal(cell_u64(&is_f64, schema_bits(1)), 1);
    assert_int_equal(cell_u64(&is_f64, schema_bits(0.9)), 0);
    assert_int_equal(cell_i64(&is_f64, schema_bits(-2.9)), -2);
    assert_int_equal(cell_u64(&is_f64, schema_bits(1e30)), UINT64_MAX);
    assert_int_equal(cell_i64(&is_f64, schema_bits(1e30)), INT64_MAX);
    assert_int_equal(cell_i64(&is_f64, schema_bits(-INFINITY)), INT64_MIN);
    assert_int_equal(cell_u64(&is_f64, schema_bits(NAN)), 0);
    assert_int_equal(cell_i64(&is_f64, schema_bits(NAN)), 0);
}

TEST_MAIN(TEST(random_tables_agree_with_brute_force), TEST(aggregates_of_no_live_row_are_neutral),
          TEST(a_frozen_row_is_ignored), TEST(numbers_of_different_types_compare_by_value),
          TEST(nan_is_not_at_least_any_number), TEST(sums_do_not_overflow),
          TEST(cells_convert_to_the_nearest_value))
