#pragma once
/* search: the best halving found so far, and methods to find a better one. */

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
    struct observer progress; /* no observer until it is set */
    uint64_t floor;           /* a proved bound: a cut of this size ends the search */
    struct refine refine;
    uint8_t *trial;         /* owned; sides to be tried next */
    uint8_t *best;          /* owned; the best halving */
    uint64_t cut;           /* its number of cables; UINT64_MAX before the first */
    const char *method;     /* how it was found */
    uint32_t start, starts; /* the current run of search_starts, and their number */
};

MUST_CHECK enum err search_init(struct search *search, const struct topology *topology,
                                const struct halving *halving, uint64_t seed, struct why *why);
void search_fini(struct search *search);

/* Turns the trial's sides into halves, refines them, and keeps them if they are better. */
void search_try(struct search *search, const char *method);

/* Is the best halving optimal? */
static inline bool search_done(const struct search *search)
{
    return search->cut <= search->floor;
}

/* Tries METIS with several seeds, grown and random regions, and perturbations of the best halving;
 * as many as a fixed amount of work allows. */
MUST_CHECK enum err search_starts(struct search *search, struct why *why);
