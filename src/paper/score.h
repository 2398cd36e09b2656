#pragma once
/* score: in how many cases a statement holds, out of how many. */

#include "paper/figure.h"

struct score {
    uint32_t cases;
    uint32_t held;
};

static inline void score_add(struct score *score, bool holds)
{
    score->cases++;
    score->held += holds;
}

/* Claims that the statement holds in all cases. `reason`: what the figure found out about the cases
 * in which it does not, or NULL. */
static inline void score_claim(struct figure_result *result, const char *where, const char *what,
                               const struct score *score, const char *reason)
{
    figure_claim(result, where, what, says_equal(score->cases, 0, "cases"), score->held, reason);
}
