#pragma once
/* assignment: the permutation of the heaviest total weight. */

#include <stdint.h>

#include "base/err.h"

/* weights[row * size + column]; column_of[row] is what the heaviest permutation
 * gives each row, *total its weight. O(size^3) at most. */
MUST_CHECK enum err assignment_heaviest(const double *weights, uint32_t size, uint32_t *column_of,
                                        double *total, struct why *why);
