#pragma once
/* zipf: ranks from 1 to n whose probability falls with the rank: that of rank k is proportional to
 * 1 / k^s. Drawn without tables by rejection-inversion (Hoermann and Derflinger, 1996), exactly, so
 * n may be any number and may change. */

#include <stdint.h>

#include "base/rng.h"

struct zipf {
    uint64_t count;
    double exponent; /* s, above 0, not 1 */
    double first, last, bound;
};

struct zipf zipf_make(uint64_t count, double exponent); /* count is at least 1 */
uint64_t zipf_next(const struct zipf *zipf, struct rng *rng);
