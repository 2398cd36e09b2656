#pragma once
/* search: the best halving found so far, and ways to look for a better one. */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "flow/bisection/halving.h"
#include "flow/bisection/refine.h"
#include "topology/topology.h"

struct search {
    const struct topology *topology; /* borrowed, as is the halving */
    const struct halving *halving;
    uint64_t seed;
    struct observer progress; /* nobody's until set */
    uint64_t floor;           /* a proved bound: a cut of this size ends the search */
    struct refine refine;
    uint8_t *trial;         /* owned; sides about to be tried */
    uint8_t *best;          /* owned; the best halving */
    uint64_t cut;           /* its cables; UINT64_MAX before the first */
    const char *method;     /* how it was found */
    uint32_t start, starts; /* which of how many of search_starts this is */
};

MUST_CHECK enum err search_init(struct search *search, const struct topology *topology,
                                const struct halving *halving, uint64_t seed, struct why *why);
void search_fini(struct search *search);

/* Makes halves of the trial's sides, refines them, keeps them if better. */
void search_try(struct search *search, const char *method);

/* Is there nothing better to be found? */
static inline bool search_done(const struct search *search)
{
    return search->cut <= search->floor;
}

/* METIS with several seeds, grown and random regions, and the best halving
 * shaken; as many as a fixed amount of work allows. */
MUST_CHECK enum err search_starts(struct search *search, struct why *why);
