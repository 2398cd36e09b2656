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

/* The claim that it holds in all; `reason` if it fails in one. */
static inline struct claim score_claim(const char *where, const char *what,
                                       const struct score *score, const char *reason)
{
    return (struct claim){.where = where,
                          .what = what,
                          .unit = "cases",
                          .paper = score->cases,
                          .found = score->held,
                          .reason = reason};
}
