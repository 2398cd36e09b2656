#pragma once
/* simplex: small dense linear programs, solved well enough to be checked. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The program: maximise gain . x where rows x <= limit and x >= 0. No limit is
 * negative, so that x = 0 is allowed. */
struct simplex {
    uint32_t row_count, column_count;
    double *table; /* owned: (rows + 1) * (columns + 1), limits last in a row, gains the last row */
    uint32_t *basis;  /* owned: per row, the variable it stands for */
    uint32_t *beside; /* owned: per column, likewise */
};

MUST_CHECK enum err simplex_init(struct simplex *simplex, uint32_t rows, uint32_t columns,
                                 struct why *why);
void simplex_fini(struct simplex *simplex);

/* Entries before the solution: a row's coefficient, its limit, a gain. */
void simplex_set(struct simplex *simplex, uint32_t row, uint32_t column, double value);
void simplex_set_limit(struct simplex *simplex, uint32_t row, double limit);
void simplex_set_gain(struct simplex *simplex, uint32_t column, double gain);

/* The best x found, `column_count` values of at least 0. It is as exact as
 * floating point and a bounded number of steps make it: check what you need. */
void simplex_solve(struct simplex *simplex, double *x);
