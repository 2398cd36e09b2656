#pragma once
/* aggregate: what the live rows say together about a column of one number. Pure.
 *
 * Of no live row the minimum is the largest number there is, the maximum the smallest,
 * the sum 0, the count 0; all are at least anything, and all are equal.
 *
 * Numbers of different kinds are compared as numbers: no -1 is at least 0u, no 2.5 at
 * least 3. Integers add up exactly; as 64 bits the sum is modulo 2^64. NaN is passed
 * over by minimum and maximum, makes the sum NaN, is at least nothing and equal to
 * nothing. The column must be one number. */

#include "sst/table/table.h"

uint64_t aggregate_minimum_u64(const struct table *table, uint32_t column);
int64_t aggregate_minimum_i64(const struct table *table, uint32_t column);
double aggregate_minimum_f64(const struct table *table, uint32_t column);
uint64_t aggregate_maximum_u64(const struct table *table, uint32_t column);
int64_t aggregate_maximum_i64(const struct table *table, uint32_t column);
double aggregate_maximum_f64(const struct table *table, uint32_t column);
uint64_t aggregate_sum_u64(const struct table *table, uint32_t column);
int64_t aggregate_sum_i64(const struct table *table, uint32_t column);
double aggregate_sum_f64(const struct table *table, uint32_t column);
bool aggregate_all_at_least_u64(const struct table *table, uint32_t column, uint64_t value);
bool aggregate_all_at_least_i64(const struct table *table, uint32_t column, int64_t value);
bool aggregate_all_at_least_f64(const struct table *table, uint32_t column, double value);
uint32_t aggregate_count_u64(const struct table *table, uint32_t column, uint64_t value);
uint32_t aggregate_count_i64(const struct table *table, uint32_t column, int64_t value);
uint32_t aggregate_count_f64(const struct table *table, uint32_t column, double value);
bool aggregate_all_equal(const struct table *table, uint32_t column);

/* A cell as a number of another kind: the nearest there is, as a cast would make it, but
 * without its undefined cases. */
uint64_t cell_u64(const struct schema_column *column, uint64_t cell);
int64_t cell_i64(const struct schema_column *column, uint64_t cell);
double cell_f64(const struct schema_column *column, uint64_t cell);
