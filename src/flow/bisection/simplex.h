#pragma once
/* simplex: solves small dense linear programs, well enough for results that the caller verifies. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The program: maximise gain . x subject to rows x <= limit and x >= 0. No limit is negative, so x
 * = 0 is feasible. */
struct simplex {
    uint32_t row_count, column_count;
    double *table;   /* owned: (rows + 1) * (columns + 1); the limit is last in a row, the gains are
                        the last row */
    uint32_t *basis; /* owned: per row, the variable that it represents */
    uint32_t *beside; /* owned: per column, the variable that it represents */
};

MUST_CHECK enum err simplex_init(struct simplex *simplex, uint32_t rows, uint32_t columns,
                                 struct why *why);
void simplex_fini(struct simplex *simplex);

/* Sets the entries before solving: a row's coefficient, its limit, a gain. */
void simplex_set(struct simplex *simplex, uint32_t row, uint32_t column, double value);
void simplex_set_limit(struct simplex *simplex, uint32_t row, double limit);
void simplex_set_gain(struct simplex *simplex, uint32_t column, double gain);

/* The best x found, `column_count` values of at least 0. Its accuracy is limited by floating point
 * and by a bounded number of steps: verify what you need. */
void simplex_solve(struct simplex *simplex, double *x);
