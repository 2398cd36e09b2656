/* aggregate: one loop, written once, with one step function for each result.
 *
 * A step works on cells in the column's own form, so that no loop branches on a type: thresholds
 * are converted to that form before the loop, and results are converted from it afterwards. The
 * compiler makes a copy of the loop for each step. */
#include "sst/table/aggregate.h"

#include <math.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/compare.h"
#include "base/wide.h"
#include "sst/table/row.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0
#define SIGN      (UINT64_C(1) << 63)

/* ---- cells as numbers ---- */

static uint64_t double_u64(double value)
{
    if (!(value >= 1)) /* also for NaN */
        return 0;
    return value >= TWO_TO_64 ? UINT64_MAX : (uint64_t)value;
}

static int64_t double_i64(double value)
{
    if (isnan(value))
        return 0;
    if (value < -TWO_TO_63)
        return INT64_MIN;
    return value >= TWO_TO_63 ? INT64_MAX : (int64_t)value;
}

uint64_t cell_u64(const struct schema_column *column, uint64_t cell)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return cell;
    case SCHEMA_SIGNED:
        return (int64_t)cell < 0 ? 0 : cell;
    case SCHEMA_FLOAT:
        return double_u64(schema_double(cell));
    }
    assert_unreachable();
}

int64_t cell_i64(const struct schema_column *column, uint64_t cell)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return cell > INT64_MAX ? INT64_MAX : (int64_t)cell;
    case SCHEMA_SIGNED:
        return (int64_t)cell;
    case SCHEMA_FLOAT:
        return double_i64(schema_double(cell));
    }
    assert_unreachable();
}

double cell_f64(const struct schema_column *column, uint64_t cell)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return (double)cell;
    case SCHEMA_SIGNED:
        return (double)(int64_t)cell;
    case SCHEMA_FLOAT:
        return schema_double(cell);
    }
    assert_unreachable();
}

/* ---- the loop ---- */

struct aggregate_tally {
    uint64_t mask; /* XORed with a cell: makes cells compare and add up as unsigned */
    uint64_t cell; /* the least so far, a threshold, or the first cell; masked */
    double number; /* the same for a column of floats */
    uint128 sum;   /* of masked integers: cannot overflow with fewer than 2^64 of them */
    uint32_t count;
    bool good;
};

/* Returns false to end the loop. */
typedef bool tally_step(struct aggregate_tally *tally, uint64_t cell);

/* Loads each cell once. The loads are relaxed, and one fence acquires for all of them: whatever was
 * put before one of these cells is visible to the user of the result. Returns whether there was a
 * live row. */
static inline __attribute__((always_inline)) bool
fold(const struct table *table, uint32_t cell, struct aggregate_tally *tally, tally_step *step)
{
    uint64_t seen = 0;
    bool go = true;
    const _Atomic uint64_t *live = table->live;
    uint8_t *const _Atomic *rows = (uint8_t *const _Atomic *)table->rows;
    uint32_t words = table->live_words;
    for (uint32_t word = 0; go && word < words; word++) {
        uint64_t rest = atomic_load_explicit(&live[word], memory_order_acquire);
        seen |= rest;
        while (go && rest) {
            size_t row = bitset_take_lowest(&rest, word);
            const uint8_t *at = atomic_load_explicit(&rows[row], memory_order_acquire);
            go = step(tally, row_load(at, cell));
        }
    }
    row_fence_load();
    return seen;
}

static const struct schema_column *column_of(const struct table *table, uint32_t index)
{
    assert(index < table->schema.column_count);
    const struct schema_column *column = &table->schema.columns[index];
    assert(schema_is_number(column));
    return column;
}

/* The mask that brings signed cells into the order of unsigned ones. */
static uint64_t order_mask(const struct schema_column *column)
{
    return schema_kind(column) == SCHEMA_SIGNED ? SIGN : 0;
}

/* ---- minimum and maximum ---- */

static inline bool step_least(struct aggregate_tally *tally, uint64_t cell)
{
    uint64_t masked = cell ^ tally->mask;
    tally->cell = least_u64(masked, tally->cell);
    return true;
}

static inline bool step_least_float(struct aggregate_tally *tally, uint64_t cell)
{
    double number = schema_double(cell ^ tally->mask);
    tally->number = number < tally->number ? number : tally->number; /* skips NaN */
    return true;
}

/* Finds the cell with the least value, or with the largest if `turn` reverses the order. */
static bool least(const struct table *table, const struct schema_column *column, bool turn,
                  uint64_t *cell)
{
    struct aggregate_tally tally = {.cell = UINT64_MAX, .number = INFINITY};
    bool found;
    if (schema_kind(column) == SCHEMA_FLOAT) {
        tally.mask = turn ? SIGN : 0;
        found = fold(table, column->cell, &tally, step_least_float);
        *cell = schema_bits(tally.number) ^ tally.mask;
    } else {
        tally.mask = order_mask(column) ^ (turn ? UINT64_MAX : 0);
        found = fold(table, column->cell, &tally, step_least);
        *cell = tally.cell ^ tally.mask;
    }
    return found;
}

uint64_t aggregate_minimum_u64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, false, &cell) ? cell_u64(column, cell) : UINT64_MAX;
}

int64_t aggregate_minimum_i64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, false, &cell) ? cell_i64(column, cell) : INT64_MAX;
}

double aggregate_minimum_f64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, false, &cell) ? cell_f64(column, cell) : INFINITY;
}

uint64_t aggregate_maximum_u64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, true, &cell) ? cell_u64(column, cell) : 0;
}

int64_t aggregate_maximum_i64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, true, &cell) ? cell_i64(column, cell) : INT64_MIN;
}

double aggregate_maximum_f64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    uint64_t cell;
    return least(table, column, true, &cell) ? cell_f64(column, cell) : -INFINITY;
}

/* ---- sum ---- */

static inline bool step_sum(struct aggregate_tally *tally, uint64_t cell)
{
    tally->sum += cell ^ tally->mask;
    tally->count++;
    return true;
}

static inline bool step_sum_float(struct aggregate_tally *tally, uint64_t cell)
{
    tally->number += schema_double(cell);
    return true;
}

static double sum_floats(const struct table *table, const struct schema_column *column)
{
    struct aggregate_tally tally = {.number = 0};
    fold(table, column->cell, &tally, step_sum_float);
    return tally.number;
}

/* The exact sum in two's complement. A masked signed cell is 2^63 too large. */
static uint128 sum_integers(const struct table *table, const struct schema_column *column)
{
    struct aggregate_tally tally = {.mask = order_mask(column)};
    fold(table, column->cell, &tally, step_sum);
    return tally.sum - (uint128)tally.count * tally.mask;
}

uint64_t aggregate_sum_u64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    if (schema_kind(column) == SCHEMA_FLOAT)
        return double_u64(sum_floats(table, column));
    return (uint64_t)sum_integers(table, column);
}

int64_t aggregate_sum_i64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    if (schema_kind(column) == SCHEMA_FLOAT)
        return double_i64(sum_floats(table, column));
    return (int64_t)(uint64_t)sum_integers(table, column);
}

double aggregate_sum_f64(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    if (schema_kind(column) == SCHEMA_FLOAT)
        return sum_floats(table, column);
    uint128 sum = sum_integers(table, column);
    return sum >> 127 ? -(double)-sum : (double)sum;
}

/* ---- at least ---- */

/* The smallest cell of a column that is at least a given number of another type. */
struct threshold {
    uint64_t cell;
    bool none; /* no cell is large enough */
};

/* Returns the next larger double, for any value but the largest. */
static double next_above(double value)
{
    uint64_t bits = schema_bits(value);
    return schema_double(value > 0 ? bits + 1 : bits - 1);
}

static struct threshold threshold_u64(const struct schema_column *column, uint64_t value)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return (struct threshold){.cell = value};
    case SCHEMA_SIGNED:
        return (struct threshold){.cell = value, .none = value > INT64_MAX};
    case SCHEMA_FLOAT:;
        double near = (double)value;
        if (near < TWO_TO_64 && (uint64_t)near < value)
            near = next_above(near);
        return (struct threshold){.cell = schema_bits(near)};
    }
    assert_unreachable();
}

static struct threshold threshold_i64(const struct schema_column *column, int64_t value)
{
    if (value >= 0)
        return threshold_u64(column, (uint64_t)value);
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return (struct threshold){.cell = 0};
    case SCHEMA_SIGNED:
        return (struct threshold){.cell = (uint64_t)value};
    case SCHEMA_FLOAT:;
        double near = (double)value;
        if ((int64_t)near < value)
            near = next_above(near);
        return (struct threshold){.cell = schema_bits(near)};
    }
    assert_unreachable();
}

static struct threshold threshold_f64(const struct schema_column *column, double value)
{
    double whole = ceil(value);
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED: /* NaN is not less than anything, so `none` is set */
        return (struct threshold){.cell = double_u64(whole), .none = !(whole < TWO_TO_64)};
    case SCHEMA_SIGNED:
        return (struct threshold){.cell = (uint64_t)double_i64(whole),
                                  .none = !(whole < TWO_TO_63)};
    case SCHEMA_FLOAT:
        return (struct threshold){.cell = schema_bits(value), .none = isnan(value)};
    }
    assert_unreachable();
}

static inline bool step_all(struct aggregate_tally *tally, uint64_t cell)
{
    return tally->good = (cell ^ tally->mask) >= tally->cell;
}

static inline bool step_all_float(struct aggregate_tally *tally, uint64_t cell)
{
    return tally->good = schema_double(cell) >= tally->number;
}

static inline bool step_count(struct aggregate_tally *tally, uint64_t cell)
{
    tally->count += (cell ^ tally->mask) >= tally->cell;
    return true;
}

static inline bool step_count_float(struct aggregate_tally *tally, uint64_t cell)
{
    tally->count += schema_double(cell) >= tally->number;
    return true;
}

static inline bool step_none(struct aggregate_tally *tally, uint64_t cell)
{
    return tally->good = false;
}

static struct aggregate_tally tally_of(const struct schema_column *column,
                                       struct threshold threshold)
{
    uint64_t mask = order_mask(column);
    return (struct aggregate_tally){.mask = mask,
                                    .cell = threshold.cell ^ mask,
                                    .number = schema_double(threshold.cell),
                                    .good = true};
}

static bool all_at_least(const struct table *table, const struct schema_column *column,
                         struct threshold threshold)
{
    struct aggregate_tally tally = tally_of(column, threshold);
    if (threshold.none)
        fold(table, column->cell, &tally, step_none);
    else if (schema_kind(column) == SCHEMA_FLOAT)
        fold(table, column->cell, &tally, step_all_float);
    else
        fold(table, column->cell, &tally, step_all);
    return tally.good;
}

static uint32_t count_at_least(const struct table *table, const struct schema_column *column,
                               struct threshold threshold)
{
    struct aggregate_tally tally = tally_of(column, threshold);
    if (threshold.none)
        return 0;
    if (schema_kind(column) == SCHEMA_FLOAT)
        fold(table, column->cell, &tally, step_count_float);
    else
        fold(table, column->cell, &tally, step_count);
    return tally.count;
}

bool aggregate_all_at_least_u64(const struct table *table, uint32_t index, uint64_t value)
{
    const struct schema_column *column = column_of(table, index);
    return all_at_least(table, column, threshold_u64(column, value));
}

bool aggregate_all_at_least_i64(const struct table *table, uint32_t index, int64_t value)
{
    const struct schema_column *column = column_of(table, index);
    return all_at_least(table, column, threshold_i64(column, value));
}

bool aggregate_all_at_least_f64(const struct table *table, uint32_t index, double value)
{
    const struct schema_column *column = column_of(table, index);
    return all_at_least(table, column, threshold_f64(column, value));
}

uint32_t aggregate_count_u64(const struct table *table, uint32_t index, uint64_t value)
{
    const struct schema_column *column = column_of(table, index);
    return count_at_least(table, column, threshold_u64(column, value));
}

uint32_t aggregate_count_i64(const struct table *table, uint32_t index, int64_t value)
{
    const struct schema_column *column = column_of(table, index);
    return count_at_least(table, column, threshold_i64(column, value));
}

uint32_t aggregate_count_f64(const struct table *table, uint32_t index, double value)
{
    const struct schema_column *column = column_of(table, index);
    return count_at_least(table, column, threshold_f64(column, value));
}

/* ---- equal ---- */

static inline bool step_equal(struct aggregate_tally *tally, uint64_t cell)
{
    tally->cell = tally->count++ ? tally->cell : cell;
    return tally->good = cell == tally->cell;
}

static inline bool step_equal_float(struct aggregate_tally *tally, uint64_t cell)
{
    tally->number = tally->count++ ? tally->number : schema_double(cell);
    return tally->good = schema_double(cell) == tally->number;
}

bool aggregate_all_equal(const struct table *table, uint32_t index)
{
    const struct schema_column *column = column_of(table, index);
    struct aggregate_tally tally = {.good = true};
    if (schema_kind(column) == SCHEMA_FLOAT)
        fold(table, column->cell, &tally, step_equal_float);
    else
        fold(table, column->cell, &tally, step_equal);
    return tally.good;
}
