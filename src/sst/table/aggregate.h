#pragma once
/* aggregate: results over the live rows of a column of one number. Pure.
 *
 * Without a live row the minimum is the largest number of its type, the maximum the smallest, the
 * sum and the count are 0, and all_at_least and all_equal are true.
 *
 * Numbers of different types are compared by value: -1 is less than 0u, and 2.5 is less than 3.
 * Sums of integers are exact; a result of 64 bits is the sum modulo 2^64. Minimum and maximum skip
 * NaN. NaN makes the sum NaN, is at least no number, and is equal to no number. The column must be
 * one number. */

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

/* Converts a cell to the nearest value of another type: like a C cast, but without undefined
 * behaviour. */
uint64_t cell_u64(const struct schema_column *column, uint64_t cell);
int64_t cell_i64(const struct schema_column *column, uint64_t cell);
double cell_f64(const struct schema_column *column, uint64_t cell);
