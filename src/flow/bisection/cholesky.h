#pragma once
/* cholesky: factors of a dense symmetric matrix.
 *
 * A matrix is `size` rows of `size` doubles; only the lower triangle is read
 * and, by the factor, overwritten. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Factors A = F F^T. *positive is false, and the matrix unusable, if a pivot was not positive. The
 * sums behind every entry are plain floating-point sums of at most `size` products, in any order:
 * the classical error bound holds. */
MUST_CHECK enum err cholesky_factor(double *matrix, uint32_t size, bool *positive, struct why *why);

/* Solves F y = x, and F^T y = x, in place. */
void cholesky_solve(const double *factor, uint32_t size, double *x);
void cholesky_solve_transposed(const double *factor, uint32_t size, double *x);
