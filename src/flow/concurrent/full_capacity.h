#pragma once
/* full_capacity: how many servers given switches carry at full rate, by the
 * rule of Singla, Hong, Popa and Godfrey, "Jellyfish: Networking Data Centers
 * Randomly", section 4.
 *
 * Binary search; each step checks a number of servers on three random
 * permutations, all of which must be carried in full. The number found is then
 * checked on ten more. The paper does not say what follows if that fails: here
 * one server fewer is tried, on all thirteen, until a number stands.
 *
 * Whether a permutation is carried is decided by proof: yes by a flow of 1, to
 * one part in a million, which is what a solver of linear programs means by 1;
 * no by an upper bound below 1. With a gap of that tolerance or less there is
 * always one or the other, unless the phases run out: then the step is
 * undecided, counts as no, and is counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    FULL_CAPACITY_SEARCH = 3,   /* permutations of a step */
    FULL_CAPACITY_CONFIRM = 10, /* more of the result */
};

#define FULL_CAPACITY_TOLERANCE 1e-6

enum full_capacity_verdict {
    FULL_CAPACITY_YES,
    FULL_CAPACITY_NO,
    FULL_CAPACITY_UNDECIDED,
    FULL_CAPACITY_NO_NETWORK, /* so many servers leave too few ports for links, or too many */
};

/* "yes", "no", "undecided", "no network" */
const char *full_capacity_verdict_name(enum full_capacity_verdict verdict);

/* One permutation of one number of servers. */
struct full_capacity_step {
    uint32_t servers;
    uint32_t matrix; /* from 0; those from FULL_CAPACITY_SEARCH on confirm */
    uint64_t seed;   /* of the permutation */
    double lower;    /* the throughput's bracket; both INFINITY if no traffic leaves its switch */
    double upper;
    uint64_t phases;
    enum full_capacity_verdict verdict;
};

struct full_capacity_options {
    uint64_t seed;      /* of matrix 0; matrix i has seed + i */
    double gap;         /* > 0; FULL_CAPACITY_TOLERANCE decides everything */
    uint64_t phase_max; /* of a step; 0: a generous default */

    /* Told of each step before it begins and when it is done; NULL: nobody is. */
    void (*begin)(void *context, const struct full_capacity_step *step);
    void (*end)(void *context, const struct full_capacity_step *step);
    void (*progress)(void *context, double lower, double upper);
    void *context;
};

struct full_capacity {
    uint32_t servers;                 /* carried at full rate; a lone server is */
    uint32_t servers_found;           /* what the search found before it was confirmed */
    uint32_t undecided;               /* steps */
    struct full_capacity_step *steps; /* owned; in the order taken */
    size_t step_count, step_capacity;
};

void full_capacity_fini(struct full_capacity *found);

/* `spec` is a Jellyfish of the switched form; its number of servers is put in
 * place of the one given there, all else stays, its seed included. With the
 * servers it names there must be a network. */
MUST_CHECK enum err full_capacity_find(struct full_capacity *found, const char *spec,
                                       const struct full_capacity_options *options,
                                       struct why *why);
