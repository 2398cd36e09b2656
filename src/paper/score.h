#pragma once
/* score: how often something held, of how many cases of a sweep. */

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

/* The claim that it holds in all, with what was found out about the cases in which it fails, or
 * NULL. */
static inline void score_claim(struct figure_result *result, const char *where, const char *what,
                               const struct score *score, const char *reason)
{
    figure_claim(result, where, what, says_equal(score->cases, 0, "cases"), score->held, reason);
}
