#pragma once
/* full_capacity: how many servers the given switches carry at full rate, by the rule of Singla,
 * Hong, Popa and Godfrey, "Jellyfish: Networking Data Centers Randomly", section 4.
 *
 * Binary search; each step checks a number of servers on three random permutations, all of which
 * must be carried in full. The result is then checked on ten more. The paper does not say what to
 * do if that fails: here one server less is tried, on all thirteen, until a number passes.
 *
 * Whether a permutation is carried is decided by proof: yes by a flow of 1, to one part in a
 * million, which is what a solver of linear programs means by 1; no by an upper bound below 1. With
 * a gap of at most that tolerance there is always one or the other, unless the phases run out: then
 * the step is undecided, counts as no, and is reported. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    FULL_CAPACITY_SEARCH = 3,   /* permutations per step */
    FULL_CAPACITY_CONFIRM = 10, /* further permutations for the result */
};

#define FULL_CAPACITY_TOLERANCE 1e-6

enum full_capacity_verdict {
    FULL_CAPACITY_YES,
    FULL_CAPACITY_NO,
    FULL_CAPACITY_UNDECIDED,
    FULL_CAPACITY_NO_NETWORK, /* this many servers leave too few ports for links, or too many */
};

/* "yes", "no", "undecided", "no network" */
const char *full_capacity_verdict_name(enum full_capacity_verdict verdict);

/* One permutation of one number of servers. */
struct full_capacity_step {
    uint32_t servers;
    uint32_t matrix; /* from 0; matrices from FULL_CAPACITY_SEARCH on confirm the result */
    uint64_t seed;   /* of the permutation */
    double lower; /* the bounds of the throughput; both INFINITY if no traffic leaves its switch */
    double upper;
    uint64_t phases;
    enum full_capacity_verdict verdict;
};

struct full_capacity_options {
    uint64_t seed;      /* of matrix 0; matrix i has seed + i */
    double gap;         /* > 0; FULL_CAPACITY_TOLERANCE leaves nothing undecided */
    uint64_t phase_max; /* per step; 0: a generous default */

    /* Called for each step before it begins and after it is done; NULL: not called. */
    void (*begin)(void *context, const struct full_capacity_step *step);
    void (*end)(void *context, const struct full_capacity_step *step);
    void (*progress)(void *context, double lower, double upper);
    void *context;
};

struct full_capacity {
    uint32_t servers;                 /* carried at full rate; a single server always is */
    uint32_t servers_found;           /* the result of the search before it was confirmed */
    uint32_t undecided;               /* number of undecided steps */
    struct full_capacity_step *steps; /* owned; in order */
    size_t step_count, step_capacity;
};

void full_capacity_fini(struct full_capacity *found);

/* `spec` is a Jellyfish of the switched form. Its number of servers is varied; everything else
 * stays the same, including its seed. A network with the given number of servers must exist. */
MUST_CHECK enum err full_capacity_find(struct full_capacity *found, const char *spec,
                                       const struct full_capacity_options *options,
                                       struct why *why);
