#pragma once
/* throughput: the share of the line rate that every server gets at once when
 * each sends to one other, chosen at random, under the best routing there is.
 *
 * That is how the Jellyfish paper compares networks. It is normalised to [0,1]:
 * a server cannot send faster than its cable. What is known of it is a bracket
 * (flow/concurrent/concurrent.h), and so is the mean of several. */

#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* Starts as {0}; each run adds to it. */
struct throughput_bracket {
    uint32_t runs;
    double lower, upper; /* means over the runs; the truth is between */
    double least, most;  /* the least lower and the largest upper of a run */
};

void throughput_add(struct throughput_bracket *throughput, double lower, double upper);

/* One permutation of the servers, to upper / lower - 1 <= gap. */
MUST_CHECK enum err throughput_add_permutation(struct throughput_bracket *throughput,
                                               const struct topology *topology, uint64_t seed,
                                               double gap, struct why *why);

/* The mean over all servers of what each gets, where some may get more than
 * others so that it is as large as can be (flow/total/total.h). A server whose
 * partner is cut off gets nothing; *apart is how many such there are. */
MUST_CHECK enum err throughput_add_mean(struct throughput_bracket *throughput,
                                        const struct topology *topology, uint64_t seed, double gap,
                                        uint32_t *apart, struct why *why);

/* Both of the above, of the same permutations. */
struct throughput_both {
    struct throughput_bracket mean, at_once;
};

MUST_CHECK enum err throughput_add_both(struct throughput_both *both,
                                        const struct topology *topology, uint64_t seed, double gap,
                                        struct why *why);

/* Of the network that the words, which take a seed, build with this one. */
MUST_CHECK enum err throughput_add_spec(struct throughput_both *both, const char *words,
                                        uint64_t seed, double gap, struct why *why);

/* What one is of another; the truth is between again. */
struct throughput_bracket throughput_ratio(const struct throughput_bracket *one,
                                           const struct throughput_bracket *other);
