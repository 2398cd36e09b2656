#pragma once
/* lanczos: the least eigenvalue of a large symmetric matrix, and its vector. The value is an
 * estimate from above; this file proves nothing. */

#include <stdint.h>

#include "base/err.h"

struct lanczos_matrix {
    uint32_t size;
    void (*multiply)(const void *context, const double *in, double *out);
    const void *context; /* borrowed */
};

/* The least eigenvalue over vectors orthogonal to `avoid` (a unit vector, or NULL), and its unit
 * vector of `size` entries. Restarts at most `cycles` times from its best estimate, with `steps`
 * steps each. */
MUST_CHECK enum err lanczos_least(const struct lanczos_matrix *matrix, const double *avoid,
                                  uint32_t steps, uint32_t cycles, uint64_t seed, double *value,
                                  double *vector, struct why *why);
