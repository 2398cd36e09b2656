#pragma once
/* throughput: the share of the line rate that all servers can have at the same
 * time when each sends to another one, drawn at random, with the best routing.
 *
 * The Jellyfish paper compares networks in this way. Throughput is in [0,1]: a
 * server cannot send faster than its cable. It is computed as a bracket of a
 * lower and an upper bound (flow/concurrent/concurrent.h), and so is the mean of
 * several. */

#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* Starts as {0}; each run adds to it. */
struct throughput_bracket {
    uint32_t runs;
    double lower, upper; /* means over the runs; the true mean is between them */
    double least, most;  /* the smallest lower and the largest upper bound of a run */
};

void throughput_add(struct throughput_bracket *throughput, double lower, double upper);

/* Adds the throughput of one permutation of the servers, with upper / lower - 1 <= gap. */
MUST_CHECK enum err throughput_add_permutation(struct throughput_bracket *throughput,
                                               const struct topology *topology, uint64_t seed,
                                               double gap, struct why *why);

/* Adds the largest mean rate of the servers, where some may get more than others
 * (flow/total/total.h). A server whose partner is cut off gets 0; *apart is the
 * number of such servers. */
MUST_CHECK enum err throughput_add_mean(struct throughput_bracket *throughput,
                                        const struct topology *topology, uint64_t seed, double gap,
                                        uint32_t *apart, struct why *why);

/* Both of the above, for the same permutations. */
struct throughput_both {
    struct throughput_bracket mean, at_once;
};

MUST_CHECK enum err throughput_add_both(struct throughput_both *both,
                                        const struct topology *topology, uint64_t seed, double gap,
                                        struct why *why);

/* The same for the network that the specification `words` builds with this seed. */
MUST_CHECK enum err throughput_add_spec(struct throughput_both *both, const char *words,
                                        uint64_t seed, double gap, struct why *why);

/* Divides one by the other; the true quotient is between the bounds of the result. */
struct throughput_bracket throughput_ratio(const struct throughput_bracket *one,
                                           const struct throughput_bracket *other);
