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

/* The claim that it holds in all. */
static inline struct figure_claim score_claim(const char *where, const char *what,
                                              const struct score *score)
{
    return (struct figure_claim){
        .where = where, .what = what, .unit = "cases", .paper = score->cases, .found = score->held};
}

/* The same, with what was found out about the cases in which it fails. */
static inline struct figure_claim score_claim_with(const char *where, const char *what,
                                                   const struct score *score, const char *reason)
{
    struct figure_claim claim = score_claim(where, what, score);
    claim.reason = reason;
    return claim;
}
