#pragma once
/* assignment: the permutation of the heaviest total weight. */

#include <stdint.h>

#include "base/err.h"

/* weights[row * size + column], all finite; column_of[row] receives the column of each row in the
 * heaviest permutation, *total its weight. O(size^3) at most. */
MUST_CHECK enum err assignment_heaviest(const double *weights, uint32_t size, uint32_t *column_of,
                                        double *total, struct why *why);

/* The same with a proof: prices[column] for which no permutation weighs more than
 * assignment_bound. */
MUST_CHECK enum err assignment_solve(const double *weights, uint32_t size, uint32_t *column_of,
                                     double *total, double *prices, struct why *why);

/* For any prices, an upper bound of every permutation's weight: the sum of all prices, plus the sum
 * over rows of the largest weight minus price, because each row gets at most its largest. */
double assignment_bound(const double *weights, uint32_t size, const double *prices);
